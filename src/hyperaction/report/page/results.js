"use strict";
// What was run and how it ended.

function heading() {
  const envs = environments();
  const agents = unique(data.runs.map((run) => run.agent));
  if (envs.length === 1) return agents.length === 1 ? `${agents[0]} on ${envName(envs[0])}` : `${plural(agents.length, "agent")} on ${envName(envs[0])}`;
  return `${agents.length === 1 ? agents[0] : plural(agents.length, "agent")} on ${plural(envs.length, "environment")}`;
}

function about() {
  const complete = data.runs.filter((run) => run.complete).length;
  const count = data.runs.length;
  const seeds = unique(data.runs.map((run) => run.seed)).length;
  const state = complete === count ? (count === 1 ? "complete" : "all complete")
    : count === 1 ? `at step ${grouped(data.runs[0].step)} of ${grouped(data.runs[0].total)}` : `${complete} complete`;
  const what = [plural(count, "run"), ...(count > 1 ? [plural(seeds, "seed")] : [`seed ${data.runs[0]?.seed}`])];
  return count ? `${what.join(", ")}, ${state}.` : "No run yet.";
}

// The baselines of an environment as they are at a step: levels, and curves that have come that far.
function baselinesAt(env, step) {
  return data.baselines.filter((line) => line.env === env || !line.env).flatMap((line) => {
    if (!line.steps.length) return [{ ...line, value: line.returns[0] }];
    const half = line.steps.length > 1 ? (line.steps[1] - line.steps[0]) / 2 : line.steps[0] / 2;
    const near = line.steps.findIndex((each) => Math.abs(each - step) <= half);
    return near < 0 ? [] : [{ ...line, value: line.returns[near], step: line.steps[near] }];
  });
}

function steps(row) {
  const done = range(row.step);
  if (row.complete === row.runs) return done;
  return `${done} of ${range(row.total)}${row.runs > 1 ? ` (${row.complete} of ${row.runs} complete)` : ""}`;
}

const seedsOf = (row) => (row.seeds.length === row.runs ? String(row.runs) : `${row.seeds.length} (${row.runs} runs)`);

function card(parent, title, value, notes) {
  const box = element("div", undefined, parent);
  box.className = "card";
  element("p", title, box).className = "card-title";
  element("p", value, box).className = "card-value";
  notes.filter(Boolean).forEach((note) => { element("p", note, box).className = "note"; });
}

// One agent in one environment: its numbers in cards.
function drawCards(parent, row) {
  const box = element("div", undefined, parent);
  box.className = "cards";
  const compared = baselinesAt(row.env, row.step[row.step.length - 1]).filter((line) => line.is_shown);
  const notes = compared.map((line) => `${line.name}: ${number(line.value)}${line.step ? ` at ${grouped(line.step)} steps` : ""}`);
  const over = row.evaluations && row.evaluations !== "1" ? `mean of the last ${row.evaluations} evaluations` : "last evaluation";
  card(box, "Final return", row.value === null ? "none yet" : number(row.value), [
    row.value === null ? "" : row.seeds.length > 1 ? `${over}, ${plural(row.seeds.length, "seed")}` : over, ...notes]);
  if (row.best !== null) card(box, "Best evaluation", number(row.best), []);
  card(box, "Steps", range(row.step), [row.complete === row.runs ? "complete" : `of ${range(row.total)}`]);
  if (row.seconds !== null) card(box, "Training time", duration(row.seconds), [`${number(row.speed)} steps per second`, row.runs > 1 ? "mean of the seeds" : ""]);
  card(box, "Agent", row.agent, [row.preset ? `preset ${row.preset}` : "", `seed${row.seeds.length > 1 ? "s" : ""} ${row.seeds.slice(0, 12).join(", ")}${row.seeds.length > 12 ? ", ..." : ""}`]);
}

// Columns of the table of results; one that is empty everywhere is left out.
const COLUMNS = [
  ["agent", (row) => row.agent],
  ["return", (row) => row.mean],
  ["IQM", (row) => row.iqm],
  ["best", (row) => (row.best === null || row.best === undefined ? "" : number(row.best))],
  ["preset", (row) => row.preset],
  ["seeds", (row) => (row.runs ? seedsOf(row) : "")],
  ["steps", (row) => (row.runs ? steps(row) : "")],
  ["time", (row) => (row.seconds ? duration(row.seconds) : "")],
  ["steps/s", (row) => (row.speed ? number(row.speed) : "")],
];

function drawTable(parent, env, rows) {
  const columns = COLUMNS.filter(([, get]) => rows.some((row) => get(row)));
  const table = fillTable(parent, envName(env), columns.map(([name]) => name), rows.map((row) => columns.map(([, get]) => get(row) ?? "")));
  const body = table.querySelector("tbody");
  rows.forEach((row, k) => {
    const mark = document.createElement("span");
    mark.className = "swatch";
    mark.style.background = colourOf(row.agent);
    body.rows[k].cells[0].prepend(mark);
  });
  const at = columns.findIndex(([name]) => name === "return");
  const last = Math.max(0, ...rows.flatMap((row) => row.step ?? []));
  for (const line of baselinesAt(env, last).filter((one) => one.is_shown)) {
    const row = element("tr", undefined, body);
    row.className = "baseline";
    columns.forEach((_, k) => element("td", k === 0 ? line.name : k === at ? number(line.value) : "", row));
  }
}

function drawResults() {
  byId("title").textContent = heading();
  document.title = `${heading()} · Hyperaction`;
  byId("about").textContent = about();
  const { rows, note } = data.results;
  const parent = byId("results");
  parent.replaceChildren();
  byId("results-note").textContent = rows.length === 1 ? "" : note;
  if (rows.length === 1) drawCards(parent, rows[0]);
  else unique(rows.map((row) => row.env)).forEach((env) => drawTable(parent, env, rows.filter((row) => row.env === env)));
}

function drawCommands() {
  const runs = data.runs.filter((run) => Object.keys(run.commands).length);
  byId("commands-section").hidden = !runs.length;
  choose(byId("command-run"), runs.map((run) => run.name));
  const run = runs[byId("command-run").selectedIndex];
  if (!run || byId("commands").dataset.shown === JSON.stringify(run.commands)) return;
  byId("commands").dataset.shown = JSON.stringify(run.commands);
  byId("commands").replaceChildren();
  for (const [what, command] of Object.entries(run.commands)) {
    element("p", what, byId("commands")).className = "command-title";
    const line = element("div", undefined, byId("commands"));
    line.className = "command";
    element("code", command, line);
    const button = element("button", "Copy", line);
    button.type = "button";
    button.setAttribute("aria-label", `Copy: ${what}`);
    button.addEventListener("click", () => copy(command, line.firstChild, button));
  }
}

async function copy(text, shown, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  } catch { // A page from a file may not write there: the text is selected instead.
    getSelection().selectAllChildren(shown);
  }
}
