// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
"use strict";
// The centres of labels of these sizes, in their order, moved until none is on another, around where they were.
function spread(centres, sizes) {
  const around = (members) => {
    let size = 0, begins = 0;
    for (const i of members) {
      begins += centres[i] - sizes[i] / 2 - size;
      size += sizes[i];
    }
    return {members, size, begin: begins / members.length};
  };
  const groups = [];
  for (const i of [...centres.keys()].sort((a, b) => centres[a] - centres[b])) {
    let group = around([i]), last;
    while ((last = groups.at(-1)) && group.begin < last.begin + last.size) {
      groups.pop();
      group = around([...last.members, ...group.members]);
    }
    groups.push(group);
  }
  const placed = [];
  for (const {members, begin} of groups) {
    let end = begin;
    for (const i of members) {
      placed[i] = end + sizes[i] / 2;
      end += sizes[i];
    }
  }
  return placed;
}
// Labels along a slope turn with it, and they and those of the ceilings stay apart, when the axes are zoomed or resized.
function placeLabels(plot) {
  const {xaxis, yaxis, annotations} = plot._fullLayout;
  if (xaxis.type !== "log" || yaxis.type !== "log") return;
  const lineHeight = 14, letterWidth = 0.55;  // in pixels, and of the font's size
  const perDecade = (axis) => axis._length / Math.abs(axis.range[1] - axis.range[0]);
  const angle = Math.atan2(perDecade(yaxis), perDecade(xaxis)), cos = Math.cos(angle), sin = Math.sin(angle);
  const change = {};
  const set = (i, what, value) => {
    if (Math.abs((annotations[i][what] || 0) - value) > 0.5) change[`annotations[${i}].${what}`] = value;
  };
  const slopes = [...annotations.entries()].filter(([, label]) => / slope$/.test(label.name)).map(([i, label]) => {
    const x = label.x * perDecade(xaxis), y = label.y * perDecade(yaxis);
    const away = label.name === "below slope" ? -9 : 9;  // from the line, at right angles to it
    return {i, away, along: x * cos + y * sin, across: y * cos - x * sin + away,
            length: label.text.length * label.font.size * letterWidth + lineHeight};
  }).sort((a, b) => a.across - b.across);
  // Labels of lines that are close together share a row.
  const rows = [];
  for (const slope of slopes) {
    const last = rows.at(-1);
    if (last && slope.across - last.at(-1).across < lineHeight) last.push(slope);
    else rows.push([slope]);
  }
  for (const row of rows) {
    const placed = spread(row.map(({along}) => along), row.map(({length}) => length));
    row.forEach(({i, away, along}, rank) => {
      const moved = placed[rank] - along;
      set(i, "textangle", -angle * 180 / Math.PI);
      set(i, "xshift", moved * cos - away * sin);
      set(i, "yshift", moved * sin + away * cos);
    });
  }
  const ceilings = [...annotations.keys()].filter((i) => annotations[i].name === "ceiling");
  const heights = ceilings.map((i) => -annotations[i].y * perDecade(yaxis));
  spread(heights, heights.map(() => lineHeight)).forEach((height, rank) => set(ceilings[rank], "ay", height - heights[rank]));
  if (Object.keys(change).length) Plotly.relayout(plot, change);
}
const plots = [...document.querySelectorAll(".plot")];
const heights = new Map();
function draw(plot, {data, layout}) {
  // Beside a narrow plot a legend leaves no room for it: it goes below.
  if (plot.clientWidth < 700 && layout.legend.orientation !== "h") {
    Object.assign(layout.legend, {orientation: "h", x: 0, y: -0.2, yanchor: "top"});
    layout.height += 20 * data.length;
  }
  heights.set(plot, layout.height);
  return Plotly.newPlot(plot, data, layout, {responsive: true, displaylogo: false,
    // Named one by one: among the defaults is one that sends the chart to a server.
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]]}).then(() => {
    plot.on("plotly_afterplot", () => placeLabels(plot));
    placeLabels(plot);
    const records = plot.data.filter((trace) => trace.meta === "records");
    plot.dataset.points = records.reduce((sum, trace) => sum + trace.x.length, 0);
    plot.dataset.traces = plot.data.length;
  });
}
async function unpack(element) {
  if (element.type !== "text/plain") return element.textContent;
  const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}
async function drawAll() {
  const figures = JSON.parse(await unpack(document.getElementById("figures")));
  const library = document.getElementById("library");
  if (library) {
    const script = document.createElement("script");
    script.textContent = await unpack(library);
    document.head.append(script);
  }
  await Promise.all(plots.map((plot) => draw(plot, figures[plot.id])));
}
// What prints a page prints it when it has loaded, and it has not while a document within it is open.
function openedDocument() {
  const frame = document.createElement("iframe");
  frame.hidden = true;
  document.body.append(frame);
  frame.contentDocument.open();
  return {close() { frame.contentDocument.close(); setTimeout(() => frame.remove()); }};
}
if (plots.length && document.getElementById("library") && !window.DecompressionStream) {
  for (const plot of plots) plot.textContent = "This browser cannot unpack the plots: make the page anew with --whole-library.";
} else if (plots.length) {
  const held = openedDocument();
  drawAll().finally(() => held.close());
}
// A click on a heading sorts by it, a second one the other way round.
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => heading.addEventListener("click", () => {
    const down = heading.getAttribute("aria-sort") === "ascending";
    headings.forEach((other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => row.cells[column].dataset.key ?? row.cells[column].textContent;
    const compare = (a, b) => {
      if ((a === "") !== (b === "")) return a === "" ? 1 : -1;
      return (down ? -1 : 1) * (isNaN(a) || isNaN(b) ? a.localeCompare(b, "en", {numeric: true}) : a - b);
    };
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort((a, b) => compare(key(a), key(b))));
  }));
}
for (const input of document.querySelectorAll("input.filter")) {
  const rows = input.nextElementSibling.querySelectorAll("tbody tr");
  input.addEventListener("input", () => {
    for (const row of rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(input.value.trim().toLowerCase());
  });
}
// On paper nothing can be opened, and a page holds less.
const paper = {width: +document.body.dataset.paperWidth || 1025, height: 495};
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const one of opened) one.open = true;
  for (const plot of heights.keys()) {
    const bars = plot.data.some((trace) => trace.type === "bar");
    const width = plot.closest(".columns") ? paper.width / 2 - 10 : paper.width;
    Plotly.relayout(plot, {width, height: bars ? heights.get(plot) : Math.min(heights.get(plot), paper.height)});
  }
});
addEventListener("afterprint", () => {
  for (const one of opened) one.open = false;
  for (const plot of heights.keys()) Plotly.relayout(plot, {width: null, height: heights.get(plot), autosize: true});
});
