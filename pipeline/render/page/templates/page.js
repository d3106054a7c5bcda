// Tables: the page has the first rows as HTML. All rows, with exact values, are packed in it, and drawn as a reader scrolls to them.

const NAMES = "td.name, td.text, td.tree";
const DRAWN_AT_ONCE = 100;

async function unpacked(element) {
  const bytes = Uint8Array.from(atob(element.textContent), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

async function enhance(section) {
  const element = section.querySelector("table.data");
  if (!element) return;
  addNames(element.tBodies[0]);
  const tools = section.querySelector(".tools");
  try {
    const table = JSON.parse(await unpacked(section.querySelector("script.rows")));
    const view = new Rows(element, section.querySelector(".scroll"), table);
    addSorting([...element.querySelectorAll(".titles th")], view);
    if (tools) addTools(tools, element, view);
  } catch (error) {
    console.error(error);
    if (!tools) return;
    tools.textContent = "This browser cannot unpack the rows: only the first ones are shown.";
    tools.hidden = false;
  }
}

// The rows of a table in the order and selection that a reader asked for.
class Rows {
  constructor(element, scroll, table) {
    Object.assign(this, { body: element.tBodies[0], scroll, table, order: null, chosen: null });
    element.setAttribute("aria-rowcount", table.count + 2);
    scroll.addEventListener("scroll", () => this.follow());
    this.draw();
  }

  draw() {
    const { table, order, chosen } = this;
    const all = order ?? Array.from({ length: table.count }, (_, row) => row);
    const isChosen = chosen && new Set(chosen);
    this.rows = isChosen ? all.filter((row) => isChosen.has(row)) : all;
    this.body.replaceChildren();
    this.scroll.scrollTop = 0;
    this.drawMore();
  }

  drawMore() {
    const start = this.body.rows.length;
    this.body.append(...this.rows.slice(start, start + DRAWN_AT_ONCE).map((row, i) => this.element(row, start + i)));
  }

  follow() {
    const { scrollTop, clientHeight, scrollHeight } = this.scroll;
    if (this.body.rows.length < this.rows.length && scrollTop + 2 * clientHeight > scrollHeight) this.drawMore();
  }

  element(row, place) {
    const { table } = this;
    const line = document.createElement("tr");
    line.setAttribute("aria-rowindex", place + 3);
    if (table.depths) {
      line.dataset.depth = table.depths[row];
      line.style.setProperty("--depth", table.depths[row]);
    }
    for (const column of table.columns) {
      const { text, exact, style } = cellOf(column, row);
      const cell = line.insertCell();
      cell.textContent = text;
      if (style) cell.className = style;
      if (exact !== null) cell.title = exact;
    }
    return line;
  }
}

function addNames(body) {
  body.addEventListener("click", (event) => {
    if (String(getSelection())) return;
    event.target.closest(NAMES)?.classList.toggle("open");
  });
  body.addEventListener("pointerover", (event) => {
    const cell = event.target.closest(NAMES);
    if (cell && cell.scrollWidth > cell.clientWidth) cell.title = cell.textContent;
  });
}

function addTools(tools, element, view) {
  const [filter, whole] = tools.querySelectorAll("input");
  const count = tools.querySelector("output");
  const all = `${grouped(String(view.table.count))} rows`;
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    view.chosen = words.length ? matching(view.table, words) : null;
    view.draw();
    count.textContent = words.length ? `${grouped(String(view.chosen.length))} of ${all}` : all;
  });
  whole.addEventListener("change", () => element.classList.toggle("whole", whole.checked));
  count.textContent = all;
  tools.hidden = false;
}

// The first click on a title sorts by its column, the second in reverse, the third restores the given order.
function addSorting(headings, view) {
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
      view.order = order ? sorted(view.table, place, order === "descending") : null;
      view.draw();
    });
  });
}

(async () => {
  for (const section of document.querySelectorAll("section")) await enhance(section);
})();

// Charts: plotly.js is packed in the page.

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
  const script = document.createElement("script");
  script.textContent = await unpacked(document.getElementById("plotly"));
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
