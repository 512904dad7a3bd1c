"use strict";
// Every chart as a file: the SVG that is shown, or a PNG of it, on the page's own background.

const PNG_SCALE = 3;

function standalone(svg) {
  const copy = svg.cloneNode(true);
  const box = svg.viewBox.baseVal;
  const shown = svg.getBoundingClientRect();
  const width = box && box.width ? box.width : shown.width;
  const height = box && box.height ? box.height : shown.height;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.removeAttribute("style");
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ width: "100%", height: "100%", fill: paper() })) ground.setAttribute(name, value);
  copy.prepend(ground);
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

async function asPng({ text, width, height }) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(PNG_SCALE * width);
  canvas.height = Math.round(PNG_SCALE * height);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

const fileName = (name, ending) => `${name.replace(/[^\w.-]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 80)}.${ending}`;

// Buttons below a chart; `named` gives the name of the file, `table` rows for CSV, the first its header.
function addExports(id, named, table) {
  const chosen = byId(id);
  const tools = element("div");
  tools.className = "tools";
  chosen.after(tools);
  const button = (text, onClick) => {
    const made = element("button", text, tools);
    made.type = "button";
    made.setAttribute("aria-label", `Save ${chosen.getAttribute("aria-label").toLowerCase()} as ${text}`);
    made.addEventListener("click", onClick);
  };
  const svg = () => chosen.querySelector("svg");
  button("SVG", () => svg() && save(fileName(named(), "svg"), new Blob([standalone(svg()).text], { type: "image/svg+xml" })));
  button("PNG", async () => svg() && save(fileName(named(), "png"), await asPng(standalone(svg()))));
  if (table) button("CSV", () => save(fileName(named(), "csv"), new Blob([csv(table())], { type: "text/csv" })));
}

// A cell that begins like a formula is quoted as text, so that no spreadsheet computes the name of a run.
function cell(value) {
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value ?? "");
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const csv = (rows) => `${rows.map((row) => row.map(cell).join(",")).join("\n")}\n`;
