"use strict";
// Everything that runs are called is put into the page as text, never as markup.

let data = JSON.parse(document.getElementById("data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const byId = (id) => document.getElementById(id);
const hidden = new Set();
const PALETTE = ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#17becf"];

function element(tag, text, parent) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

const unique = (values) => [...new Set(values)];
const number = (value) => Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
const braced = (part) => `{${part.join(", ")}}`;

async function chart(id, spec) {
  const ink = dark.matches ? "#e8e8e8" : "#1b1b1b";
  const line = dark.matches ? "#35393f" : "#dddddd";
  const axis = { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line };
  const config = {
    background: "transparent", axis, legend: { labelColor: ink, titleColor: ink },
    view: { stroke: null }, text: { color: ink }, rule: { color: ink }, font: "system-ui, sans-serif",
  };
  const full = { width: "container", height: "container", autosize: { type: "fit", contains: "padding" }, config, ...spec };
  await embedChart(byId(id), full, { actions: false, renderer: "svg", tooltip: { theme: dark.matches ? "dark" : "light" } });
}

function colour(agents) {
  return { field: "agent", type: "nominal", title: null,
    scale: { domain: agents, range: agents.map((_, k) => PALETTE[k % PALETTE.length]) },
    legend: { orient: "bottom", columns: 2, labelLimit: 300 } };
}

const CURVES = "Thin: seeds; bold: their mean, each seed interpolated to common steps; shaded: lowest to highest.";

function drawCurves() {
  const env = byId("env").value;
  const all = unique(data.runs.filter((run) => run.env === env).map((run) => run.agent));
  const runs = data.runs.filter((run) => run.env === env && !hidden.has(run.agent) && run.steps.length);
  const last = Math.max(0, ...runs.map((run) => run.steps[run.steps.length - 1]));
  const seeds = runs.flatMap((run) => run.steps.map((step, k) => (
    { run: run.name, agent: run.agent, step, value: run.returns[k] })));
  const means = data.means.filter((row) => row.env === env && !hidden.has(row.agent));
  const published = [];
  for (const agent of unique(runs.map((run) => run.agent))) {
    const spread = data.published[`${env}/${agent}`];
    if (!spread) continue;
    spread.steps.forEach((step, k) => {
      if (step <= last + 5000) published.push({ name: `published ${spread.agent}`, agent, step,
        mean: spread.mean[k], low: spread.low[k], high: spread.high[k] });
    });
  }
  const x = { field: "step", type: "quantitative", title: "environment steps", axis: { format: "~s", labelFlush: true } };
  const y = (field) => ({ field, type: "quantitative", title: "return" });
  const c = colour(all);
  const tooltip = ["agent", "step", "mean", "low", "high", "seeds"].map((field) => ({ field, type: field === "agent" ? "nominal" : "quantitative", format: field === "agent" ? undefined : ",.0f" }));
  byId("curves").dataset.points = means.length;
  byId("curves-note").textContent = published.length
    ? `${CURVES} Dashed: the mean that the paper's authors published.` : CURVES;
  if (!means.length) {
    byId("curves").replaceChildren();
    byId("curves-note").textContent = "No evaluation to show.";
    return Promise.resolve();
  }
  const layer = [
    { data: { values: means }, mark: { type: "area", opacity: 0.15 }, encoding: { x, y: y("low"), y2: { field: "high" }, color: c } },
    { data: { values: seeds }, mark: { type: "line", strokeWidth: 1, opacity: 0.45 }, encoding: { x, y: y("value"), color: c, detail: { field: "run" } } },
    { data: { values: means }, mark: { type: "line", strokeWidth: 2.5, point: { size: 22 } }, encoding: { x, y: y("mean"), color: c, tooltip } },
  ];
  if (published.length) layer.unshift({ data: { values: published }, mark: { type: "line", strokeDash: [6, 4], opacity: 0.8 }, encoding: { x, y: y("mean"), color: c, detail: { field: "name" } } });
  return chart("curves", { layer });
}

function drawSpeed() {
  const values = data.runs.filter((run) => run.speed).map((run) => ({ name: run.name, speed: run.speed, agent: run.agent }));
  byId("throughput").hidden = !values.length;
  if (!values.length) return Promise.resolve();
  byId("speed").style.height = `${Math.max(120, 60 + 18 * values.length)}px`;
  return chart("speed", { data: { values }, mark: "bar", encoding: {
    y: { field: "name", type: "nominal", title: null, axis: { labelLimit: 140 } },
    x: { field: "speed", type: "quantitative", title: "environment steps per second" },
    color: { ...colour(unique(data.runs.map((run) => run.agent))), legend: null },
    tooltip: [{ field: "name" }, { field: "speed", format: ",.0f" }] } });
}

function fillTable(parent, title, header, rows) {
  const table = element("table", undefined, element("div", undefined, parent));
  element("caption", title, table);
  const head = element("tr", undefined, element("thead", undefined, table));
  header.forEach((name) => element("th", name, head).setAttribute("scope", "col"));
  const body = element("tbody", undefined, table);
  rows.forEach((row) => { const line = element("tr", undefined, body); row.forEach((cell) => element("td", cell, line)); });
}

function drawTables() {
  byId("tables").replaceChildren();
  data.tables.forEach((table) => fillTable(byId("tables"), table.env, table.header, table.rows));
  byId("tables-note").textContent = data.tables_note;
}

function drawSettings() {
  const names = unique(data.runs.flatMap((run) => Object.keys(run.settings)));
  const setting = (run, name) => JSON.stringify(run.settings[name] ?? null);
  const differ = names.filter((name) => unique(data.runs.map((run) => setting(run, name))).length > 1);
  const common = names.filter((name) => !differ.includes(name));
  byId("differences").replaceChildren();
  byId("common").replaceChildren();
  fillTable(byId("differences"), "Different settings", ["run", ...differ], data.runs.map((run) => [run.name, ...differ.map((name) => setting(run, name))]));
  if (data.runs.length) fillTable(byId("common"), "Common settings", ["setting", "value"], common.map((name) => [name, setting(data.runs[0], name)]));
}

const orderName = (part) => `order ${part.length}`;

function drawBars(explanation) {
  const label = (part) => part.join(",");
  const shares = explanation.shares.map((row) => ({ label: label(row.vertices), order: orderName(row.vertices), percent: 100 * row.share, size: row.vertices.length }));
  const bars = explanation.representation.map((row) => ({ label: label(row.edge), order: orderName(row.edge), mean: row.mean, low: row.lowest, high: row.highest }));
  const sorted = (rows) => rows.map((row) => row.label);
  const color = { field: "order", type: "nominal", title: null, legend: { orient: "bottom" } };
  const x = (rows) => ({ field: "label", type: "nominal", sort: sorted(rows), title: null, axis: { labelAngle: -90, labelOverlap: true } });
  const drawn = [chart("representation", { data: { values: bars }, layer: [
    { mark: "bar", encoding: { x: x(bars), y: { field: "mean", type: "quantitative", title: "representation" }, color, tooltip: [{ field: "label" }, { field: "mean", format: ".3~g" }, { field: "low", format: ".3~g" }, { field: "high", format: ".3~g" }] } },
    { mark: "rule", encoding: { x: x(bars), y: { field: "low", type: "quantitative" }, y2: { field: "high" } } },
  ] })];
  byId("shares").hidden = !shares.length;
  if (shares.length) drawn.push(chart("shares", { data: { values: shares }, mark: "bar", encoding: { x: x(shares), y: { field: "percent", type: "quantitative", title: "share of variance (%)" }, color, tooltip: [{ field: "label" }, { field: "percent", format: ".2f" }] } }));
  return Promise.all(drawn);
}

function drawHypergraph(explanation) {
  const count = explanation.sizes.length;
  const place = (k) => ({ x: Math.sin((2 * Math.PI * k) / count), y: Math.cos((2 * Math.PI * k) / count) });
  const share = new Map(explanation.shares.map((row) => [row.vertices.join(), row.share]));
  const mean = new Map(explanation.representation.map((row) => [row.edge.join(), row.mean]));
  const about = (part) => ({ vertices: braced(part), named: part.map((v) => explanation.names[v] ?? v).join(" + "), order: orderName(part),
    percent: share.has(part.join()) ? `${(100 * share.get(part.join())).toFixed(2)}%` : "unknown",
    mean: mean.has(part.join()) ? number(mean.get(part.join())) : "none", weight: share.get(part.join()) ?? 0.05 });
  const parts = (explanation.shares.length ? explanation.shares.map((row) => row.vertices) : explanation.representation.map((row) => row.edge));
  const lines = [];
  for (const part of parts.filter((one) => one.length > 1)) {
    const points = part.map(place);
    const middle = { x: points.reduce((sum, point) => sum + point.x, 0) / points.length, y: points.reduce((sum, point) => sum + point.y, 0) / points.length };
    if (part.length === 2) lines.push({ ...about(part), ...points[0], x2: points[1].x, y2: points[1].y });
    else points.forEach((point) => lines.push({ ...about(part), ...point, x2: middle.x, y2: middle.y }));
  }
  lines.sort((one, other) => one.weight - other.weight);
  const nodes = explanation.sizes.map((size, k) => ({ ...about([k]), ...place(k), text: `${k} ${explanation.names[k] ?? ""}`, sub: size, tx: 1.3 * place(k).x, ty: 1.25 * place(k).y }));
  const scale = { domain: [-1.6, 1.6] };
  const xy = (x, y) => ({ x: { field: x, type: "quantitative", axis: null, scale }, y: { field: y, type: "quantitative", axis: null, scale: { domain: [-1.35, 1.35] } } });
  const tooltip = [{ field: "vertices" }, { field: "named", title: "names" }, { field: "percent", title: "of the variance" }, { field: "mean", title: "mean value" }];
  const color = { field: "order", type: "nominal", title: null, legend: { orient: "bottom" } };
  byId("hypergraph").dataset.edges = lines.length;
  return chart("hypergraph", { layer: [
    { data: { values: lines }, params: [{ name: "pointed", select: { type: "point", on: "pointerover", fields: ["vertices"] } }],
      mark: { type: "rule", strokeCap: "round" },
      encoding: { ...xy("x", "y"), x2: { field: "x2" }, y2: { field: "y2" }, color, tooltip,
        strokeWidth: { field: "weight", type: "quantitative", scale: { type: "sqrt", range: [1, 14] }, legend: null },
        opacity: { condition: { param: "pointed", value: 0.9, empty: true }, value: 0.15 } } },
    { data: { values: nodes }, mark: { type: "point", filled: true, opacity: 1 }, encoding: { ...xy("x", "y"), color, tooltip,
      size: { field: "weight", type: "quantitative", scale: { range: [120, 1400] }, legend: null } } },
    { data: { values: nodes }, mark: { type: "text", fontSize: 12 }, encoding: { ...xy("tx", "ty"), text: { field: "text" } } },
  ] });
}

function drawExplanation() {
  byId("explained").hidden = !data.explanations.length;
  const explanation = data.explanations[byId("explanation").selectedIndex];
  if (!explanation) return Promise.resolve();
  const raw = new Map(explanation.representation.map((row) => [row.edge.join(), row]));
  const parts = explanation.shares.length ? explanation.shares.map((row) => row.vertices) : explanation.representation.map((row) => row.edge);
  const share = new Map(explanation.shares.map((row) => [row.vertices.join(), `${(100 * row.share).toFixed(2)}%`]));
  byId("numbers").replaceChildren();
  fillTable(byId("numbers"), `${explanation.steps.toLocaleString("en")} greedy steps`, ["vertices", "names", "variance", "mean", "lowest", "highest"], parts.map((part) => {
    const row = raw.get(part.join());
    const statistics = row ? [row.mean, row.lowest, row.highest].map(number) : ["", "", ""];
    return [braced(part), part.map((v) => explanation.names[v] ?? "").join(" + "), share.get(part.join()) ?? "", ...statistics];
  }));
  return Promise.all([drawHypergraph(explanation), drawBars(explanation)]);
}

function drawStructure() {
  byId("structured").hidden = !data.structures.length;
  const structure = data.structures[byId("structure").selectedIndex];
  if (!structure) return Promise.resolve();
  byId("changes").replaceChildren();
  structure.changes.forEach((change) => element("p", change.message, byId("changes")));
  const rows = structure.changes.flatMap((change) => change.shares).filter((row) => row.vertices.length > 1)
    .map((row) => ({ label: row.vertices.join(","), percent: 100 * row.share, pair: row.kept ? "kept" : "dropped" }));
  byId("chosen").hidden = !rows.length;
  if (!rows.length) return Promise.resolve();
  rows.sort((one, other) => other.percent - one.percent);
  return chart("chosen", { data: { values: rows }, mark: "bar", encoding: {
    x: { field: "label", type: "nominal", sort: rows.map((row) => row.label), title: null, axis: { labelAngle: -90, labelOverlap: true } },
    y: { field: "percent", type: "quantitative", title: "interaction, share of variance (%)" },
    color: { field: "pair", type: "nominal", title: null, legend: { orient: "bottom" } },
    tooltip: [{ field: "label" }, { field: "percent", format: ".2f" }, { field: "pair" }] } });
}

let shownVideos = "";
function drawVideos() {
  byId("videos-section").hidden = !data.videos.length;
  if (shownVideos === JSON.stringify(data.videos)) return; // Do not interrupt playback.
  shownVideos = JSON.stringify(data.videos);
  byId("videos").replaceChildren();
  for (const video of data.videos) {
    element("p", video.name, byId("videos"));
    const shown = element("video", undefined, byId("videos"));
    shown.controls = true; shown.preload = "metadata"; shown.src = video.src;
  }
}

function choose(select, values) {
  const before = select.value;
  if (JSON.stringify([...select.options].map((option) => option.value)) === JSON.stringify(values)) return;
  select.replaceChildren();
  values.forEach((value) => { element("option", value, select).value = value; });
  if (values.includes(before)) select.value = before;
}

function listAgents() {
  const box = byId("agents");
  const agents = unique(data.runs.filter((run) => run.env === byId("env").value).map((run) => run.agent));
  if (box.dataset.agents === JSON.stringify(agents)) return; // The keyboard's place is kept.
  box.dataset.agents = JSON.stringify(agents);
  box.querySelectorAll("label").forEach((label) => label.remove());
  for (const agent of agents) {
    const label = element("label", undefined, box);
    const tick = element("input", undefined, label);
    tick.type = "checkbox"; tick.checked = !hidden.has(agent);
    tick.addEventListener("change", () => { hidden[tick.checked ? "delete" : "add"](agent); drawCurves(); });
    element("span", agent, label);
  }
}

function draw() {
  const done = data.runs.filter((run) => run.steps.length && run.steps[run.steps.length - 1] >= run.total).length;
  byId("about").textContent = `${data.runs.length} runs, ${done} complete, ${unique(data.runs.map((run) => run.env)).length} environments.`;
  choose(byId("env"), unique([...data.means, ...data.runs].map((row) => row.env))); // Those with results first.
  choose(byId("explanation"), data.explanations.map((one) => one.run));
  choose(byId("structure"), data.structures.map((one) => one.run));
  listAgents();
  drawTables();
  drawSettings();
  drawVideos();
  return Promise.all([drawCurves(), drawSpeed(), drawExplanation(), drawStructure()]);
}

byId("choices").addEventListener("submit", (event) => event.preventDefault());
byId("env").addEventListener("change", () => { listAgents(); drawCurves(); });
byId("explanation").addEventListener("change", drawExplanation);
byId("structure").addEventListener("change", drawStructure);
dark.addEventListener("change", draw);
const drawn = draw();
document.body.dataset.ready = "yes";
drawn.then(() => { document.body.dataset.drawn = "yes"; });

if (data.live) {
  setInterval(async () => {
    const answer = await fetch("data.json", { cache: "no-store" }).catch(() => null);
    if (!answer || !answer.ok) {
      byId("about").textContent = "No longer updated: the server does not respond.";
      return;
    }
    const text = await answer.text();
    if (text === JSON.stringify(data)) return;
    const newer = JSON.parse(text);
    if (JSON.stringify(newer) !== JSON.stringify(data)) { data = newer; draw(); }
  }, 2000);
}
