"use strict";

// Tables: sorted by exact values, which numeric cells carry in their title, and filtered by names.

const NAMES = "td.name, td.text, td.tree";

for (const section of document.querySelectorAll("section")) {
  const table = section.querySelector("table.data");
  if (table) enhance(section, table, table.tBodies[0]);
}

function enhance(section, table, body) {
  const rows = [...body.rows];
  addSorting([...table.querySelectorAll(".titles th")], body, rows);
  const tools = section.querySelector(".tools");
  if (tools) addTools(tools, table, rows);
  body.addEventListener("click", (event) => {
    if (String(getSelection())) return;
    event.target.closest(NAMES)?.classList.toggle("open");
  });
  body.addEventListener("pointerover", (event) => {
    const cell = event.target.closest(NAMES);
    if (cell && cell.scrollWidth > cell.clientWidth) cell.title = cell.textContent;
  });
}

function addTools(tools, table, rows) {
  const [filter, whole] = tools.querySelectorAll("input");
  const count = tools.querySelector("output");
  const names = (row) => [...row.querySelectorAll(NAMES)].map((cell) => cell.textContent).join(" ");
  const texts = rows.map((row) => names(row).toLowerCase());
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = matching(rows, texts, words);
    rows.forEach((row, i) => { row.hidden = !shown[i]; });
    count.textContent = words.length ? `${shown.filter(Boolean).length} of ${rows.length} rows` : "";
  });
  whole.addEventListener("change", () => table.classList.toggle("whole", whole.checked));
  tools.hidden = false;
}

// A title sorts by its column, then the other way round, then puts the rows back as they were given.
function addSorting(headings, body, rows) {
  const given = headings.map((heading) => heading.ariaSort);
  headings.forEach((heading, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const isText = heading.classList.contains("text");
      const orders = isText ? ["ascending", "descending"] : ["descending", "ascending"];
      const order = orders[orders.indexOf(heading.ariaSort) + 1];
      headings.forEach((other, i) => { other.ariaSort = order ? "none" : given[i]; });
      if (order) heading.ariaSort = order;
      body.append(...(order ? sorted(rows, place, isText, order === "descending") : rows));
    });
  });
}

function depthOf(row) {
  return Number(row.dataset.depth ?? 0);
}

// Which rows to show; in a tree, also the rows above one that matches.
function matching(rows, texts, words) {
  const shown = [];
  let needed = 0;
  for (let i = rows.length - 1; i >= 0; i--) {
    const depth = depthOf(rows[i]);
    shown[i] = words.every((word) => texts[i].includes(word)) || depth < needed;
    if (shown[i]) needed = depth;
  }
  return shown;
}

// Rows in order of a column: missing values last in both directions, siblings among themselves in a tree.
function sorted(rows, place, isText, isDescending) {
  const root = { children: [] };
  const above = [root];
  for (const row of rows) {
    const cell = row.cells[place];
    const key = isText ? cell.textContent : parseFloat(cell.title);
    const isMissing = isText ? key === "" : Number.isNaN(key);
    const node = { row, key, isMissing, text: cell.textContent, children: [] };
    while (above.length > 1 && above.at(-1).depth >= depthOf(row)) above.pop();
    node.depth = depthOf(row);
    above.at(-1).children.push(node);
    above.push(node);
  }
  const compare = (a, b) => {
    if (a.isMissing || b.isMissing) return a.isMissing - b.isMissing;
    const order = isText ? a.key.localeCompare(b.key, undefined, { numeric: true }) : a.key - b.key;
    return isDescending ? -order : order;
  };
  const flat = (node) => node.children.sort(compare).flatMap((child) => [child.row, ...flat(child)]);
  return flat(root);
}

// Charts: the library is in the page, packed.

const LAYOUT = {
  autosize: true,
  margin: { l: 60, r: 10, t: 24, b: 40 },
  showlegend: false,
  font: { family: "system-ui, sans-serif", size: 12 },
  paper_bgcolor: "rgba(0,0,0,0)",
  plot_bgcolor: "rgba(0,0,0,0)",
  hoverlabel: { bgcolor: "#20252d", bordercolor: "#20252d", font: { color: "#ffffff" }, align: "left" },
};
const CONFIG = { responsive: true, displaylogo: false, modeBarButtons: [["toImage"]] };

async function draw(charts) {
  const packed = document.getElementById("plotly").textContent;
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
  for (const chart of charts) {
    const { data, layout } = JSON.parse(chart.firstElementChild.textContent);
    for (const axis of ["xaxis", "yaxis"]) {
      if (layout[axis]) layout[axis] = { automargin: true, ...layout[axis] };
    }
    await Plotly.newPlot(chart, data, { ...LAYOUT, ...layout }, CONFIG);
  }
}

const charts = [...document.querySelectorAll(".chart")];
if (charts.length) {
  draw(charts).catch(() => {
    for (const chart of charts) {
      chart.classList.add("none");
      chart.textContent = "No chart: this browser cannot draw it. The table below has the same figures.";
    }
  });
}
