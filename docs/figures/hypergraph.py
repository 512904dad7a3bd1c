"""Draws `hypergraph.svg`: the hypergraph of the paper's figure 1, and how Q(s, a) comes from it."""

import math
from pathlib import Path

VERTICES = [(70, 70), (150, 50), (240, 95), (195, 185), (90, 225), (275, 255)]
"""Where each of the six vertices is."""
EDGES = {
    "#1f77b4": [(0,)],
    "#d95f02": [(1, 2), (2, 3)],
    "#1b9e77": [(3, 4, 5)],
}
"""Hyperedges by colour, one colour per order."""
RADIUS = 15


def _tangent_region(points: list[tuple[int, int]], colour: str) -> str:
    """A region around some vertices: the outline of their hull, drawn with round, thick joints."""
    x, y = (sum(axis) / len(points) for axis in zip(*points, strict=True))
    around = sorted(points, key=lambda point: math.atan2(point[1] - y, point[0] - x))
    path = "M" + " L".join(f"{a},{b}" for a, b in around) + " Z"
    return f'<path d="{path}" class="region" stroke="{colour}" fill="{colour}"/>'


def _text(x: float, y: float, words: str, kind: str = "") -> str:
    return f'<text x="{x}" y="{y}" class="{kind}">{words}</text>'


def main() -> None:
    """Writes the picture beside this file."""
    parts = []
    for colour, edges in reversed(EDGES.items()):
        parts += [_tangent_region([VERTICES[vertex] for vertex in edge], colour) for edge in edges]
    for number, (x, y) in enumerate(VERTICES):
        parts.append(f'<circle cx="{x}" cy="{y}" r="{RADIUS}"/>')
        parts.append(_text(x, y + 5, str(number), "vertex"))
    parts.append(_text(170, 315, "six vertices, four hyperedges", "small"))
    rows = [(colour, edge) for colour, edges in EDGES.items() for edge in edges]
    for row, (colour, edge) in enumerate(rows):
        y = 60 + 62 * row
        count = 3 ** len(edge)
        name = "{" + ", ".join(map(str, edge)) + "}"
        parts.append(f'<rect x="370" y="{y - 20}" width="170" height="40" rx="8" fill="{colour}"/>')
        parts.append(_text(455, y + 5, f"{name}: {count} values", "block"))
        parts.append(f'<path class="arrow" d="M545,{y} C600,{y} 590,153 622,153"/>')
    parts.append(_text(455, 315, "a value for each combination", "small"))
    parts.append('<rect x="628" y="128" width="84" height="50" rx="8" class="mixer"/>')
    parts.append(_text(670, 158, "mixer", "mixer-text"))
    parts.append('<path class="arrow" d="M714,153 L748,153"/>')
    parts.append(_text(790, 159, "Q(s, a)", "value"))
    parts.append(_text(715, 315, "one value of each", "small"))
    style = """
    text { font: 15px system-ui, sans-serif; text-anchor: middle; fill: #666; }
    .vertex { fill: #fff; font-weight: 600; }
    .block, .mixer-text { fill: #fff; }
    .value { font-size: 17px; font-weight: 600; fill: #777; }
    .small { font-size: 13px; }
    .region { stroke-width: 62; stroke-linejoin: round; stroke-linecap: round; opacity: 0.3; }
    circle, .mixer { fill: #555; }
    .arrow { fill: none; stroke: #888; stroke-width: 2; }
    """
    body = "\n".join(parts)
    title = "A hypergraph on six vertices, a block for each hyperedge, and the mixer"
    picture = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 840 335" role="img">'
        f"\n<title>{title}</title>\n<style>{style}</style>\n{body}\n</svg>\n"
    )
    Path(__file__).with_suffix(".svg").write_text(picture)


if __name__ == "__main__":
    main()
