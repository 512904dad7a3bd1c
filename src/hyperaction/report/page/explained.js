"use strict";
// What each hyperedge contributes, as bars and numbers, and how hyperedges changed.

const MAX_BARS = 20;

// Horizontal bars, so that names can be read; those that matter most.
function drawBars(explanation) {
  const edges = hyperedges(explanation);
  const rows = edges.slice(0, MAX_BARS).map((edge) => ({
    label: partName(explanation, edge.part), order: orderName(edge.part), percent: 100 * (edge.share ?? 0),
    mean: edge.values?.mean, low: edge.values?.lowest, high: edge.values?.highest }));
  const hasShares = explanation.shares.length > 0;
  const hasValues = rows.some((row) => row.mean !== undefined);
  byId("shares-box").hidden = !hasShares;
  byId("representation-box").hidden = !hasValues;
  for (const id of ["shares", "representation"]) byId(id).style.height = `${80 + 20 * rows.length}px`;
  const orders = unique(rows.map((row) => row.order)).sort();
  const color = { field: "order", type: "nominal", title: null, scale: { domain: orders, range: orders.map((order) => orderColour(Number(order.slice(6)))) }, legend: { orient: "bottom" } };
  const y = { field: "label", type: "nominal", sort: rows.map((row) => row.label), title: null, axis: { labelLimit: byId("explained").clientWidth < 560 ? 130 : 220, ticks: false, domain: false } };
  const x = (field, title) => ({ field, type: "quantitative", title, axis: { tickCount: 5 } });
  const drawn = [];
  if (hasShares) drawn.push(chart("shares", { title: "Share of the variance of Q", data: { values: rows }, mark: { type: "bar", cornerRadiusEnd: 2 },
    encoding: { y, x: x("percent", "percent"), color, tooltip: [{ field: "label" }, { field: "percent", format: ".2f" }] } }));
  if (hasValues) drawn.push(chart("representation", { title: "Value for the greedy action", data: { values: rows.filter((row) => row.mean !== undefined) }, layer: [
    { mark: { type: "bar", cornerRadiusEnd: 2 }, encoding: { y, x: x("mean", "mean; line: lowest to highest"), color, tooltip: [{ field: "label" }, { field: "mean", format: ".3~g" }, { field: "low", format: ".3~g" }, { field: "high", format: ".3~g" }] } },
    { mark: "rule", encoding: { y, x: { field: "low", type: "quantitative" }, x2: { field: "high" } } },
  ] }));
  byId("bars-note").textContent = edges.length > MAX_BARS && (hasShares || hasValues) ? `The first ${MAX_BARS} of ${grouped(edges.length)}; all numbers are in the table.` : "";
  return Promise.all(drawn);
}

function drawNumbers(explanation) {
  byId("numbers-box").hidden = !explanation.steps;
  byId("numbers").replaceChildren();
  if (!explanation.steps) return;
  fillTable(byId("numbers"), `Over ${plural(explanation.steps, "greedy step")}`, ["vertices", "variance", "mean", "lowest", "highest"],
    hyperedges(explanation).map(({ part, share, values }) => [partName(explanation, part), share === null ? "" : percent(share),
      ...[values?.mean, values?.lowest, values?.highest].map((value) => (value === undefined ? "" : number(value)))]));
}

function drawExplanation() {
  byId("explained").hidden = !data.explanations.length;
  const names = data.explanations.map((one) => one.run);
  choose(byId("explanation"), names, data.explanations.map((one) => `${one.agent} on ${envName(one.env)} (${one.run})`));
  const explanation = data.explanations[byId("explanation").selectedIndex];
  if (!explanation) return Promise.resolve();
  byId("explained-title").textContent = explanation.shares.length ? "Which joint actions matter" : "The hypergraph";
  drawHypergraph(explanation);
  drawNumbers(explanation);
  return drawBars(explanation);
}

function drawStructure() {
  byId("structured").hidden = !data.structures.length;
  choose(byId("structure"), data.structures.map((one) => one.run));
  const structure = data.structures[byId("structure").selectedIndex];
  if (!structure) return Promise.resolve();
  byId("changes").replaceChildren();
  structure.changes.forEach((change) => element("p", change.message, byId("changes")));
  const rows = structure.changes.flatMap((change) => change.shares).filter((row) => row.vertices.length > 1)
    .map((row) => ({ label: braced(row.vertices), percent: 100 * row.share, pair: row.kept ? "kept" : "dropped" }))
    .sort((one, other) => other.percent - one.percent).slice(0, 2 * MAX_BARS);
  byId("chosen-box").hidden = !rows.length;
  if (!rows.length) return Promise.resolve();
  byId("chosen").style.height = `${80 + 20 * rows.length}px`;
  return chart("chosen", { data: { values: rows }, mark: { type: "bar", cornerRadiusEnd: 2 }, encoding: {
    y: { field: "label", type: "nominal", sort: rows.map((row) => row.label), title: null, axis: { ticks: false, domain: false } },
    x: { field: "percent", type: "quantitative", title: "interaction, share of the variance (%)" },
    color: { field: "pair", type: "nominal", title: null, legend: { orient: "bottom" }, scale: { domain: ["kept", "dropped"], range: [palette()[0], faint()] } },
    tooltip: [{ field: "label" }, { field: "percent", format: ".2f" }, { field: "pair" }] } });
}

function initExplained() {
  byId("explanation").addEventListener("change", drawExplanation);
  byId("drawn").addEventListener("change", drawExplanation);
  byId("structure").addEventListener("change", drawStructure);
  const named = (what) => () => `${byId("explanation").value || "run"}-${what}`;
  addExports("hypergraph", named("hypergraph"));
  addExports("shares", named("shares"));
  addExports("representation", named("values"));
  addExports("chosen", () => `${byId("structure").value || "run"}-changes`);
}
