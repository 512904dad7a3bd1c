"use strict";
// A hypergraph in a square: vertices on a circle, order 2 as lines, higher orders as regions.

const MAX_REGIONS = 6;
const MAX_SIZE = 720;
const MAX_LINES = 200;

const orderColour = (order) => palette()[(order - 1) % palette().length];
const vertexName = (explanation, v) => (explanation.names[v] && explanation.names[v] !== String(v) ? explanation.names[v] : `vertex ${v}`);
const partName = (explanation, part) => part.map((v) => vertexName(explanation, v)).join(" + ");

function svgElement(tag, attributes, parent, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

// The hyperedges, each with its share and how strong it is beside the others that join vertices, from 0 to 1.
function hyperedges(explanation) {
  const means = new Map(explanation.representation.map((row) => [row.edge.join(), row]));
  const rows = explanation.shares.length ? explanation.shares.map((row) => ({ part: row.vertices, share: row.share }))
    : explanation.representation.map((row) => ({ part: row.edge, share: null }));
  const largest = Math.max(1e-12, ...rows.filter((row) => row.part.length > 1).map((row) => row.share ?? 0));
  return rows.map((row) => ({ ...row, values: means.get(row.part.join()), strength: row.share === null ? 0.3 : Math.sqrt(Math.max(0, row.share) / largest) }))
    .sort((one, other) => (other.share ?? 0) - (one.share ?? 0) || one.part.length - other.part.length);
}

// Which of them are drawn, strongest first; all nodes always are.
function drawnOf(edges, choice) {
  const joining = edges.filter((edge) => edge.part.length > 1);
  if (choice === "all") return joining;
  if (choice.startsWith("order ")) return joining.filter((edge) => orderName(edge.part) === choice);
  const lines = joining.filter((edge) => edge.part.length === 2).slice(0, MAX_LINES);
  return [...joining.filter((edge) => edge.part.length > 2).slice(0, MAX_REGIONS), ...lines];
}

const orderName = (part) => `order ${part.length}`;

// Around points in the order of the circle, which are the corners of a convex polygon, at a distance, rounded.
function region(points, distance) {
  const normals = points.map((point, k) => {
    const next = points[(k + 1) % points.length];
    const length = Math.hypot(next.x - point.x, next.y - point.y);
    return { x: (next.y - point.y) / length, y: -(next.x - point.x) / length };
  });
  const at = (point, normal) => `${(point.x + distance * normal.x).toFixed(1)} ${(point.y + distance * normal.y).toFixed(1)}`;
  const arc = `A ${distance} ${distance} 0 0 1`;
  return `M ${at(points[0], normals[0])} ${points.map((point, k) => {
    const next = points[(k + 1) % points.length];
    return `L ${at(next, normals[k])} ${arc} ${at(next, normals[(k + 1) % points.length])}`;
  }).join(" ")} Z`;
}

function describe(explanation, edge) {
  const texts = [partName(explanation, edge.part), orderName(edge.part)];
  if (edge.share !== null) texts.push(`${percent(edge.share)} of the variance of Q`);
  if (edge.values?.mean !== undefined) texts.push(`mean value ${number(edge.values.mean)}`);
  return texts.join(", ");
}

function short(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

// Where everything is. Names that would leave no room for the drawing are listed below it instead, by number.
function layout(explanation, size, hasRegions) {
  const font = size < 460 ? 12 : 14;
  const unit = Math.max(0.6, Math.min(1, size / 600));
  const full = explanation.sizes.map((_, v) => short(vertexName(explanation, v), 18));
  const radiusFor = (names) => size / 2 - gap - Math.max(1.5 * font, 0.58 * font * Math.max(...names.map((name) => name.length)) + 4);
  const gap = hasRegions ? 38 * unit : 24 * unit; // From a vertex to its name.
  const isListed = radiusFor(full) < 0.26 * size;
  const names = isListed ? full.map((_, v) => String(v)) : full;
  const radius = radiusFor(names);
  const centre = size / 2;
  const place = (v, distance = radius) => {
    const angle = (2 * Math.PI * v) / names.length;
    return { x: centre + distance * Math.sin(angle), y: centre - distance * Math.cos(angle) };
  };
  return { font, unit, names, listed: isListed ? full : [], radius, gap, centre, place };
}

function drawEdge(svg, edge, { place, unit }, k) {
  const colour = orderColour(edge.part.length);
  const points = [...edge.part].sort((one, other) => one - other).map((v) => place(v));
  const shape = edge.part.length === 2
    ? svgElement("line", { x1: points[0].x, y1: points[0].y, x2: points[1].x, y2: points[1].y, stroke: colour, "stroke-linecap": "round",
      "stroke-width": (1 + 11 * unit * edge.strength).toFixed(2), "stroke-opacity": (0.18 + 0.67 * edge.strength).toFixed(2) }, svg)
    : svgElement("path", { d: region(points, (15 + 5 * (k % 4)) * unit), fill: colour, "fill-opacity": (0.03 + 0.14 * edge.strength).toFixed(2), stroke: colour,
      "stroke-opacity": (0.3 + 0.6 * edge.strength).toFixed(2), "stroke-width": (1 + 1.5 * edge.strength).toFixed(2) }, svg);
  shape.setAttribute("class", `edge edge-${edge.part.length > 2 ? "region" : "line"}`);
  return shape;
}

function drawVertex(svg, edge, v, { font, unit, names, radius, gap, place, centre }) {
  const at = place(v);
  const size = unit * (edge ? (edge.share === null ? 8 : 6 + 15 * Math.sqrt(Math.max(0, edge.share))) : 6);
  const node = svgElement("circle", { cx: at.x, cy: at.y, r: size.toFixed(1), fill: edge ? orderColour(1) : paper(), stroke: edge ? paper() : faint(), "stroke-width": 1.5, class: "edge vertex" }, svg);
  const label = place(v, radius + gap);
  const side = Math.abs(label.x - centre) < 8 ? "middle" : label.x > centre ? "start" : "end";
  const down = label.y < centre - 0.9 * radius ? -0.1 : label.y > centre + 0.9 * radius ? 0.8 : 0.35;
  svgElement("text", { x: label.x, y: label.y + down * font, "text-anchor": side, "font-size": font, "font-weight": 500, fill: ink() }, svg, names[v]);
  return node;
}

// Texts in rows as wide as the drawing, below it, each after a mark; returns how high they are.
function drawRows(svg, items, { font }, size, top) {
  const widths = items.map(({ text }) => 2.4 * font + 0.58 * font * text.length);
  const rows = [[]];
  items.forEach((_, k) => {
    const row = rows[rows.length - 1];
    if (row.length && row.reduce((sum, one) => sum + widths[one], widths[k]) > size) rows.push([k]); else row.push(k);
  });
  rows.forEach((row, line) => {
    let x = (size - row.reduce((sum, k) => sum + widths[k], 0)) / 2 + 0.4 * font;
    for (const k of row) {
      const y = top + 1.6 * font * line;
      if (items[k].colour) svgElement("rect", { x, y, width: font, height: font, rx: items[k].isRound ? font / 2 : 2, fill: items[k].colour }, svg);
      svgElement("text", { x: items[k].colour ? x + 1.4 * font : x, y: y + 0.85 * font, "font-size": font, fill: ink() }, svg, items[k].text);
      x += widths[k];
    }
  });
  return 1.6 * font * rows.length;
}

function orderItems(edges) {
  const orders = unique(edges.map((edge) => edge.part.length)).sort((one, other) => one - other);
  return orders.map((order) => {
    const shares = edges.filter((edge) => edge.part.length === order).map((edge) => edge.share);
    const text = shares.includes(null) ? `order ${order} (${shares.length})` : `order ${order}: ${percent(shares.reduce((sum, share) => sum + share, 0))}`;
    return { text, colour: orderColour(order), isRound: order === 1 };
  });
}

let shownExplanation = null;
function drawHypergraph(explanation) {
  const box = byId("hypergraph");
  const size = Math.max(280, Math.min(box.clientWidth || MAX_SIZE, MAX_SIZE));
  const edges = hyperedges(explanation);
  const orders = unique(edges.filter((edge) => edge.part.length > 1).map((edge) => orderName(edge.part))).sort();
  const total = edges.filter((edge) => edge.part.length > 1);
  const simple = drawnOf(edges, "strongest").length === total.length && orders.length < 2;
  choose(byId("drawn"), simple ? ["all"] : ["strongest", "all", ...(orders.length > 1 ? orders : [])]);
  if (shownExplanation !== explanation.run) byId("drawn").selectedIndex = 0;
  shownExplanation = explanation.run;
  const drawn = drawnOf(edges, byId("drawn").value);
  const svg = svgElement("svg", { "font-family": FONT, role: "img", tabindex: 0,
    "aria-label": `Hypergraph of ${plural(explanation.sizes.length, "vertex").replace("vertexs", "vertices")}. The arrow keys go through its hyperedges.` });
  const plan = layout(explanation, size, drawn.some((edge) => edge.part.length > 2));
  const shapes = [];
  // Regions first, then lines, the strongest on top; nodes above all.
  for (const isRegion of [true, false]) {
    drawn.filter((edge) => (edge.part.length > 2) === isRegion).map((edge, k) => [edge, k]).reverse()
      .forEach(([edge, k]) => shapes.push({ edge, shape: drawEdge(svg, edge, plan, k) }));
  }
  explanation.sizes.forEach((count, v) => {
    const edge = edges.find((one) => one.part.length === 1 && one.part[0] === v);
    const shape = drawVertex(svg, edge, v, plan);
    if (edge) shapes.push({ edge, shape });
  });
  const below = Math.max(...plan.names.map((_, v) => plan.place(v).y)) + plan.gap + 2 * plan.font;
  let height = below + drawRows(svg, orderItems(edges), plan, size, below);
  if (plan.listed.length) height += 8 + drawRows(svg, plan.listed.map((name, v) => ({ text: `${v} ${name}` })), plan, size, height + 8);
  for (const [name, value] of Object.entries({ viewBox: `0 0 ${size} ${height}`, width: size, height })) svg.setAttribute(name, value);
  box.replaceChildren(svg);
  box.dataset.edges = drawn.length;
  const more = total.length - drawn.length;
  byId("hypergraph-note").textContent = [
    explanation.shares.length ? "Thicker lines, darker regions and larger vertices explain more of the variance of Q over joint actions." : "The hyperedges of the network. “Explain” among the commands adds how much each of them matters.",
    more ? `${grouped(drawn.length)} of ${grouped(total.length)} hyperedges that join vertices are drawn.` : ""].filter(Boolean).join(" ");
  react(svg, shapes, explanation);
}

// What is pointed at, or reached by the arrow keys, is described below, and the rest fades.
function react(svg, shapes, explanation) {
  const readout = byId("hypergraph-readout");
  const point = (chosen) => {
    shapes.forEach(({ shape }) => shape.setAttribute("opacity", !chosen || chosen.shape === shape ? 1 : 0.15));
    readout.textContent = chosen ? describe(explanation, chosen.edge) : "Point at a hyperedge for its numbers.";
  };
  point(null);
  const byShare = [...shapes].sort((one, other) => (other.edge.share ?? 0) - (one.edge.share ?? 0));
  let place = -1;
  shapes.forEach((each) => {
    each.shape.addEventListener("pointerenter", () => point(each));
    each.shape.addEventListener("click", () => point(each));
  });
  svg.addEventListener("pointerleave", () => point(null));
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") { place = -1; point(null); }
    if (!step) return;
    event.preventDefault();
    place = place < 0 && step < 0 ? byShare.length - 1 : (place + step + byShare.length) % byShare.length;
    point(byShare[place]);
  });
}
