"use strict";
// Curves of returns and of what else was measured, over steps or time, by agent and by seed.

const hiddenAgents = new Set();
const hiddenBaselines = new Set();
const knownBaselines = new Set();

const CURVES = "Bold: the mean over seeds, each interpolated to common points; thin: each seed; shaded: lowest to highest.";
const ONE_SEED = "Each point is an evaluation.";
const MAX_MARKERS = 60;

// Thousands and millions of steps in a few characters, as an expression of Vega.
const SHORT = "datum.value >= 1e6 ? format(datum.value / 1e6, '~r') + 'M' : datum.value >= 1e3 ? format(datum.value / 1e3, '~r') + 'k' : format(datum.value, '~r')";

const axisOf = () => document.querySelector("input[name=axis]:checked").value;

// TensorBoard's smoothing: an exponential mean, corrected for its beginning.
function smoothed(values, weight) {
  let sum = 0;
  let total = 0;
  return values.map((value) => {
    sum = weight * sum + value;
    total = weight * total + 1;
    return sum / total;
  });
}

// What is to be drawn: rows of the means and of the seeds.
function curveData() {
  const [env, metric, axis] = [byId("env").value, byId("metric").value, axisOf()];
  const weight = byId("smoothing-label").hidden ? 0 : Number(byId("smoothing").value);
  const isShown = (one) => one.env === env && !hiddenAgents.has(one.agent);
  const means = data.means.filter((mean) => isShown(mean) && mean.metric === metric && mean.axis === axis);
  const seeds = data.runs.filter((run) => isShown(run) && run.series[metric]?.[axis]);
  return {
    env, metric, axis,
    means: means.flatMap(({ agent, x, mean, low, high, seeds: count }) => {
      const [m, l, h] = [mean, low, high].map((values) => smoothed(values, weight));
      return x.map((at, k) => ({ agent, x: at, mean: m[k], low: l[k], high: h[k], seeds: count[k] }));
    }),
    seeds: seeds.flatMap((run) => {
      const values = smoothed(run.series[metric].value, weight);
      return run.series[metric][axis].map((at, k) => ({ run: run.name, agent: run.agent, seed: run.seed, x: at, value: values[k] }));
    }),
  };
}

// Those that have anything within the steps of the runs.
function baselinesOf(env) {
  const last = Math.max(0, ...data.runs.filter((run) => run.env === env).map((run) => run.step));
  return data.baselines.filter((line) => (line.env === env || !line.env) && !(line.steps[0] > 1.02 * last));
}

// Baselines that are ticked, as rows with one or two ends, or as curves up to where the runs are.
function baselineRows(env, last, axis) {
  const rows = [];
  const labels = [];
  for (const line of baselinesOf(env).filter((one) => !hiddenBaselines.has(one.name))) {
    const colour = line.same_as && !hiddenAgents.has(line.same_as) ? colourOf(line.same_as) : faint();
    if (!line.steps.length) {
      [0, last].forEach((x) => rows.push({ name: line.name, x, value: line.returns[0], colour }));
    } else if (axis === "step") {
      line.steps.forEach((x, k) => { if (x <= 1.02 * last) rows.push({ name: line.name, x, value: line.returns[k], colour }); });
    }
    const end = rows[rows.length - 1];
    if (end?.name === line.name) labels.push(end);
  }
  return { rows, labels };
}

function unitOf(last) {
  return UNITS.find(([, size]) => last >= 2 * size) ?? UNITS[2];
}

function horizontal(axis, last) {
  if (axis === "step") return { title: "environment steps", scale: 1 };
  const [, size, name] = unitOf(last);
  return { title: `training time (${name})`, scale: 1 / size };
}

function layers({ means, seeds }, baselines, { title, scale }, options) {
  const x = { field: "x", type: "quantitative", title, axis: { labelExpr: SHORT, tickCount: options.narrow ? 5 : 8, labelFlush: true, grid: false }, scale: { nice: false, zero: true } };
  const y = (field) => ({ field, type: "quantitative", title: options.metric, scale: options.scale });
  const agents = agentsOf(options.env);
  const color = { field: "agent", type: "nominal", title: null, scale: { domain: agents, range: agents.map(colourOf) },
    legend: agents.length > 1 ? { orient: "bottom", columns: options.narrow ? 1 : 3, labelLimit: 300, symbolType: "stroke" } : null };
  const scaled = (rows) => rows.map((row) => ({ ...row, x: row.x * scale }));
  const count = Math.max(0, ...agents.map((agent) => means.filter((row) => row.agent === agent).length));
  const tooltip = [{ field: "agent" }, { field: "x", title, format: ",.3~r" }, { field: "mean", title: options.metric, format: ",.4~r" },
    ...(options.several ? [{ field: "low", title: "lowest", format: ",.4~r" }, { field: "high", title: "highest", format: ",.4~r" }, { field: "seeds" }] : [])];
  const layer = [];
  const fixed = { field: "colour", type: "nominal", scale: null, legend: null }; // Not the colour of an agent.
  if (baselines.rows.length) layer.push({ data: { values: scaled(baselines.rows) }, mark: { type: "line", strokeDash: [6, 4], strokeWidth: 1.5 },
    encoding: { x, y: y("value"), stroke: fixed, detail: { field: "name" } } });
  if (baselines.rows.length) layer.push({ data: { values: scaled(baselines.labels) }, mark: { type: "text", align: "right", baseline: "bottom", dy: -3, dx: -2, fontSize: 11.5, limit: options.narrow ? 260 : 500 },
    encoding: { x, y: y("value"), text: { field: "name" }, fill: fixed } });
  if (options.several) {
    layer.push({ data: { values: scaled(means) }, mark: { type: "area", opacity: 0.14 }, encoding: { x, y: y("low"), y2: { field: "high" }, color } });
    if (options.seeds) layer.push({ data: { values: scaled(seeds) }, mark: { type: "line", strokeWidth: 1, opacity: 0.5 }, encoding: { x, y: y("value"), color, detail: { field: "run" } } });
  }
  layer.push({ data: { values: scaled(means) }, mark: { type: "line", strokeWidth: 2.6, strokeJoin: "round" }, encoding: { x, y: y("mean"), color } });
  layer.push({ data: { values: scaled(means) }, mark: { type: "point", filled: true, opacity: 1 },
    params: [{ name: "near", select: { type: "point", on: "pointerover", clear: "pointerout", nearest: true } }],
    encoding: { x, y: y("mean"), color, tooltip,
      size: { condition: { param: "near", empty: false, value: 90 }, value: count > MAX_MARKERS ? 0 : 26 } } });
  return layer;
}

function drawCurves() {
  const found = curveData();
  const { env, metric, axis, means, seeds } = found;
  const several = seeds.length > means.length || means.some((row) => row.seeds > 1);
  byId("curves").dataset.points = means.length;
  byId("curves-tools-seeds").hidden = !several;
  if (!means.length) {
    byId("curves").replaceChildren();
    byId("curves-note").textContent = "Nothing to show: no evaluation yet, or no agent chosen.";
    return Promise.resolve();
  }
  const last = Math.max(...means.map((row) => row.x), ...seeds.map((row) => row.x));
  const baselines = metric === "return" ? baselineRows(env, last, axis) : { rows: [], labels: [] };
  byId("curves").dataset.baselines = baselines.labels.length;
  const isLog = byId("log").checked;
  const positive = [...means.map((row) => row.low), ...seeds.map((row) => row.value), ...baselines.rows.map((row) => row.value)].every((value) => value > 0);
  const options = { env, metric, several, seeds: byId("seeds").checked, narrow: byId("curves").clientWidth < 560,
    scale: { zero: false, nice: true, type: isLog ? (positive ? "log" : "symlog") : "linear" } };
  const notes = [several ? CURVES : metric === "return" ? ONE_SEED : "", axis === "time" ? "Time is that of training, without evaluations." : "",
    baselines.rows.length ? "Dashed: what to compare with." : ""];
  byId("curves-note").textContent = notes.filter(Boolean).join(" ");
  byId("curves").setAttribute("aria-label", `Curves of ${metric} in ${envName(env)}`);
  return chart("curves", { title: envName(env), layer: layers(found, baselines, horizontal(axis, last), options) });
}

// The controls, as far as there is something to choose.
function drawChoices() {
  choose(byId("env"), environments(), environments().map(envName));
  const env = byId("env").value;
  const here = data.means.filter((mean) => mean.env === env);
  choose(byId("metric"), unique(["return", ...here.map((mean) => mean.metric)]));
  const timed = here.some((mean) => mean.axis === "time");
  byId("axes").hidden = !timed;
  if (!timed) document.querySelector("input[name=axis][value=step]").checked = true;
  byId("smoothing-label").hidden = !here.some((mean) => mean.x.length >= 8);
  for (const line of data.baselines.filter((one) => !knownBaselines.has(one.name))) {
    knownBaselines.add(line.name);
    if (!line.is_shown) hiddenBaselines.add(line.name);
  }
  listTicks(byId("agents"), agentsOf(env), hiddenAgents, drawCurves, 2, colourOf);
  listTicks(byId("baselines"), byId("metric").value === "return" ? unique(baselinesOf(env).map((line) => line.name)) : [], hiddenBaselines, drawCurves, 1);
}

function curveTable() {
  const { axis, metric, seeds } = curveData();
  const x = axis === "step" ? "step" : "seconds";
  return [["run", "agent", "seed", x, metric], ...seeds.map((row) => [row.run, row.agent, row.seed, row.x, row.value])];
}

function initCurves() {
  byId("choices").addEventListener("submit", (event) => event.preventDefault());
  byId("env").addEventListener("change", () => { drawChoices(); drawCurves(); });
  byId("metric").addEventListener("change", () => { drawChoices(); drawCurves(); });
  for (const id of ["axes", "smoothing", "log", "seeds"]) byId(id).addEventListener("input", drawCurves);
  addExports("curves", () => `${envName(byId("env").value)}-${byId("metric").value}`, curveTable);
}
