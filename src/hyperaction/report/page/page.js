"use strict";
// The page as a whole: what is drawn when, and newer data from the server.

function drawSettings() {
  const names = unique(data.runs.flatMap((run) => Object.keys(run.settings)));
  const setting = (run, name) => { const value = run.settings[name] ?? "–"; return typeof value === "string" ? value : JSON.stringify(value); };
  const differ = names.filter((name) => unique(data.runs.map((run) => setting(run, name))).length > 1);
  const common = names.filter((name) => !differ.includes(name));
  byId("differences").replaceChildren();
  byId("common").replaceChildren();
  byId("settings-section").hidden = !data.runs.length;
  if (differ.length) fillTable(byId("differences"), "In which runs differ", ["run", ...differ], data.runs.map((run) => [run.name, ...differ.map((name) => setting(run, name))]));
  byId("common-title").textContent = data.runs.length > 1 ? `${plural(common.length, "setting")} that all runs share` : `All ${plural(common.length, "setting")}`;
  if (data.runs.length) fillTable(byId("common"), data.runs.length > 1 ? "The same in all runs" : data.runs[0].name, ["setting", "value"], common.map((name) => [name, setting(data.runs[0], name)]));
}

let shownVideos = "";
function drawVideos() {
  byId("videos-section").hidden = !data.videos.length;
  byId("videos-title").textContent = data.videos.length === 1 ? "Video" : "Videos";
  if (shownVideos === JSON.stringify(data.videos)) return; // Do not interrupt playback.
  shownVideos = JSON.stringify(data.videos);
  byId("videos").replaceChildren();
  for (const video of data.videos) {
    const figure = element("figure", undefined, byId("videos"));
    const shown = element("video", undefined, figure);
    shown.controls = true; shown.preload = "metadata"; shown.src = video.src; shown.playsInline = true;
    shown.setAttribute("aria-label", video.name);
    if (video.poster) shown.poster = video.poster;
    element("figcaption", video.name, figure);
  }
}

function draw() {
  drawResults();
  drawCommands();
  drawChoices();
  drawSettings();
  drawVideos();
  return Promise.all([drawCurves(), drawExplanation(), drawStructure()]);
}

initCurves();
initExplained();
byId("command-run").addEventListener("change", drawCommands);
dark.addEventListener("change", draw);
let width = innerWidth;
addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; drawExplanation(); } });
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
