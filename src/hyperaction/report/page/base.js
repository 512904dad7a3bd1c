"use strict";
// Everything that runs are called is put into the page as text, never as markup.

let data = JSON.parse(document.getElementById("data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const byId = (id) => document.getElementById(id);

// Distinguishable for colour-blind readers, on paper and on a dark screen.
const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#b5539c", "#b8860b", "#4f8fc0", "#7a5195", "#6b6b6b"];
const DARK = ["#5eb3ea", "#ff9a52", "#3fcf9f", "#e29ccb", "#e8c14a", "#a5c9ea", "#b79bd6", "#b0b0b0"];
const palette = () => (dark.matches ? DARK : LIGHT);
const ink = () => (dark.matches ? "#e8e8e8" : "#1b1b1b");
const faint = () => (dark.matches ? "#a0a0a0" : "#6a6a6a");
const paper = () => (dark.matches ? "#16181b" : "#ffffff");
const FONT = "system-ui, sans-serif";

function element(tag, text, parent) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

const unique = (values) => [...new Set(values)];
const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
const grouped = (value) => Math.round(value).toLocaleString("en");
const braced = (part) => `{${part.join(", ")}}`;
const percent = (share) => (share > 0 && share < 0.0005 ? "under 0.1%" : `${(100 * share).toFixed(1)}%`);

function number(value) {
  if (value === 0) return "0";
  if (Math.abs(value) >= 100) return grouped(value);
  return String(Number(value.toPrecision(3)));
}

const UNITS = [["h", 3600, "hours"], ["min", 60, "minutes"], ["s", 1, "seconds"]];

function duration(seconds) {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 100) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// From and to of numbers that ascend, or the one that they are.
const range = (values) => (values.length === 1 || values[0] === values[values.length - 1]
  ? grouped(values[0]) : `${grouped(values[0])} to ${grouped(values[values.length - 1])}`);

const agentsOf = (env) => unique(data.runs.filter((run) => run.env === env).map((run) => run.agent));
const environments = () => unique([...data.means, ...data.runs].map((row) => row.env)); // Those with results first.

// The name of an environment without its module, where that is clear.
function envName(env) {
  const last = (name) => name.slice(name.lastIndexOf(":") + 1) || name;
  return environments().filter((other) => last(other) === last(env)).length === 1 ? last(env) : env;
}

// An agent has one colour everywhere on the page.
function colourOf(agent) {
  const agents = unique(data.runs.map((run) => run.agent));
  return palette()[agents.indexOf(agent) % palette().length];
}

async function chart(id, spec) {
  const line = dark.matches ? "#35393f" : "#dddddd";
  const axis = { labelColor: ink(), titleColor: ink(), gridColor: line, domainColor: line, tickColor: line,
    labelFontSize: 12, titleFontSize: 13, titleFontWeight: 500 };
  const config = {
    background: "transparent", axis, legend: { labelColor: ink(), titleColor: ink(), labelFontSize: 12, symbolStrokeWidth: 3, symbolOpacity: 1 },
    title: { color: ink(), fontSize: 14, fontWeight: 600, anchor: "start", offset: 12 },
    view: { stroke: null }, text: { color: ink() }, rule: { color: ink() }, font: FONT,
  };
  const full = { width: "container", height: "container", autosize: { type: "fit", contains: "padding" }, config, ...spec };
  await embedChart(byId(id), full, { actions: false, renderer: "svg", tooltip: { theme: dark.matches ? "dark" : "light" } });
}

function fillTable(parent, title, header, rows) {
  const table = element("table", undefined, element("div", undefined, parent));
  table.parentElement.className = "scroll";
  element("caption", title, table);
  const head = element("tr", undefined, element("thead", undefined, table));
  header.forEach((name) => element("th", name, head).setAttribute("scope", "col"));
  const body = element("tbody", undefined, table);
  rows.forEach((row) => { const line = element("tr", undefined, body); row.forEach((cell) => element("td", cell, line)); });
  return table;
}

// Fills a select, and hides it with its label where there is nothing to choose.
function choose(select, values, names = values) {
  const before = select.value;
  select.closest("label").hidden = values.length < 2;
  if (JSON.stringify([...select.options].map((option) => option.value)) === JSON.stringify(values)) return;
  select.replaceChildren();
  values.forEach((value, k) => { element("option", names[k], select).value = value; });
  if (values.includes(before)) select.value = before;
}

// A box with a tick for each name, hidden where there are fewer than `least`; those not in `off` are ticked.
function listTicks(box, names, off, onChange, least, colour) {
  box.hidden = names.length < least;
  const shown = JSON.stringify([names, dark.matches, names.map((name) => off.has(name))]);
  if (box.dataset.shown === shown) return; // The keyboard's place is kept.
  box.dataset.shown = shown;
  box.querySelectorAll("label").forEach((label) => label.remove());
  for (const name of names) {
    const label = element("label", undefined, box);
    const tick = element("input", undefined, label);
    tick.type = "checkbox"; tick.checked = !off.has(name);
    tick.addEventListener("change", () => {
      off[tick.checked ? "delete" : "add"](name);
      box.dataset.shown = JSON.stringify([names, dark.matches, names.map((each) => off.has(each))]);
      onChange();
    });
    if (colour) tick.style.accentColor = colour(name);
    element("span", name, label);
  }
}
