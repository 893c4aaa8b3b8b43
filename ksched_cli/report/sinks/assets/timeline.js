// A lane for each pod with a mark for each event. The arrow keys go from mark to mark, and a table has the same.

const LANES_OF_PAGE = innerWidth <= 520 ? 12 : 30;
const STATES = { wait: "waits for a node", run: "is on a node" };

function clock(seconds) {
  const rest = Math.round((seconds % 60) * 1000) / 1000;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1) return `${rest}s`;
  const hours = Math.floor(minutes / 60);
  return hours ? `${hours}h${minutes % 60}m${rest ? `${rest}s` : ""}` : `${minutes}m${rest ? `${rest}s` : ""}`;
}

class Timeline {
  constructor(host, data) {
    Object.assign(this, { host, data, page: 0, query: "" });
    this.lanes = data.lanes;
    this.end = Math.max(data.end, ...data.lanes.flatMap((lane) => lane.events.map((each) => each[0])), 1);
    this.box = element("div", { class: "lanes" });
    this.pager = element("div", { class: "pager" });
    const search = element("input", { type: "search", placeholder: "Search", "aria-label": "Search for a pod", on: { input: () => this.filter(search.value) } });
    const key = element("ul", { class: "legend" }, data.legend.map(([kind, text]) => element("li", {}, element("span", { class: `swatch e-${kind}`, "aria-hidden": "true" }), text)));
    const table = element("details", {}, element("summary", {}, "All events as a table"));
    table.addEventListener("toggle", () => {
      if (table.childElementCount === 1) new DataTable(table, data.table);
    });
    host.append(data.lanes.length > 10 ? element("div", { class: "controls" }, search) : "", this.box, this.pager, key, table);
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.draw();
  }

  filter(query) {
    const wanted = query.toLowerCase();
    this.lanes = this.data.lanes.filter((lane) => lane.name.toLowerCase().includes(wanted));
    this.page = 0;
    this.draw();
  }

  // Most happens in the first seconds, so that the scale is logarithmic where the run is long.
  x(time) {
    const share = this.end > 60 ? Math.log1p(time) / Math.log1p(this.end) : time / this.end;
    return 1.5 + this.reach * share;
  }

  ticks() {
    const all = this.end > 60 ? [0, 1, 5, 20, 60, 300, 900, 3600, 4 * 3600, 86400, 604800] : [0, 0.25, 0.5, 0.75, 1].map((part) => Math.round(part * this.end * 10) / 10);
    return all.filter((each, at) => each <= this.end && (this.wide || at % 2 === 0));
  }

  draw() {
    const first = this.page * LANES_OF_PAGE;
    const lanes = this.lanes.slice(first, first + LANES_OF_PAGE);
    this.wide = this.box.clientWidth > 560;
    // The rest is for marks of one time, which stand side by side.
    this.reach = this.wide ? 95 : 91;
    const ticks = this.ticks();
    const axis = drawn("svg", { "aria-hidden": "true" }, ticks.map((each, at) => drawn("text", { class: "tick", x: `${this.x(each)}%`, y: 19, "text-anchor": at === 0 ? "start" : "middle" }, clock(each))));
    this.box.replaceChildren(element("div", { class: "lane axis" }, element("span", { class: "name" }, this.end > 60 ? "virtual time (logarithmic)" : "virtual time"), axis), ...lanes.map((lane) => this.lane(lane, ticks)));
    this.box.querySelector("g[data-mark]")?.setAttribute("tabindex", 0);
    this.drawPager(first, lanes.length);
  }

  drawPager(first, count) {
    const pages = Math.ceil(this.lanes.length / LANES_OF_PAGE);
    this.pager.hidden = pages < 2;
    const to = (page) => ({ click: () => { this.page = page; this.draw(); } });
    this.pager.replaceChildren(element("button", { type: "button", disabled: this.page === 0, on: to(this.page - 1) }, "Previous pods"),
      element("span", {}, `${number(first + 1)} to ${number(first + count)} of ${counted(this.lanes.length, "pod")}`),
      element("button", { type: "button", disabled: this.page + 1 >= pages, on: to(this.page + 1) }, "Next pods"));
  }

  lane(lane, ticks) {
    const shapes = ticks.map((each) => drawn("line", { class: "grid", x1: `${this.x(each)}%`, x2: `${this.x(each)}%`, y1: 0, y2: 30 }));
    for (const [from, to, state] of lane.spans) shapes.push(drawn("line", { class: state, x1: `${this.x(from)}%`, x2: `${this.x(to === null ? this.end : to)}%`, y1: 15, y2: 15 }, drawn("title", {}, `${STATES[state]} from ${clock(from)}`)));
    let last = -1;
    let stacked = 0;
    for (const [time, kind, text] of lane.events) {
      stacked = Math.abs(this.x(time) - last) < 0.01 ? stacked + 1 : 0;
      last = this.x(time);
      shapes.push(this.mark(lane, time, kind, text, stacked));
    }
    return element("div", { class: "lane" }, element("span", { class: "name" }, lane.name), drawn("svg", { role: "group", "aria-label": `Events of ${lane.name}` }, shapes));
  }

  mark(lane, time, kind, text, stacked) {
    const lines = [lane.name, `at ${clock(time)}`, text];
    const x = `${this.x(time)}%`;
    const move = `translate(${stacked * 11}, 0)`;
    const nested = drawn("svg", { x, y: 15, overflow: "visible" }, drawn("path", { class: `event e-${kind}`, d: SHAPES[kind], transform: move }));
    const made = drawn("g", { role: "img", "aria-label": lines.join(", "), tabindex: -1, "data-mark": true }, nested);
    tipOn(made, lines);
    return made;
  }

  key(event) {
    const mark = event.target.closest("g[data-mark]");
    if (!mark) return;
    const lanes = [...this.box.querySelectorAll("svg")].map((svg) => [...svg.querySelectorAll("g[data-mark]")]).filter((marks) => marks.length);
    const row = lanes.findIndex((marks) => marks.includes(mark));
    const at = lanes[row].indexOf(mark);
    const beside = (to) => lanes[to] && lanes[to][Math.min(at, lanes[to].length - 1)];
    const next = { ArrowRight: lanes[row][at + 1], ArrowLeft: lanes[row][at - 1], ArrowDown: beside(row + 1), ArrowUp: beside(row - 1) }[event.key];
    if (!next) return;
    event.preventDefault();
    mark.setAttribute("tabindex", -1);
    next.setAttribute("tabindex", 0);
    next.focus();
  }
}

// Told apart by shape as well: disc, cross, triangle, diamond, small square.
const SHAPES = {
  good: "M-6,0 a6,6 0 1,0 12,0 a6,6 0 1,0 -12,0",
  bad: "M-6,-3 L-3,-6 L0,-3 L3,-6 L6,-3 L3,0 L6,3 L3,6 L0,3 L-3,6 L-6,3 L-3,0 Z",
  warn: "M0,-7 L7,6 L-7,6 Z",
  out: "M0,-7 L7,0 L0,7 L-7,0 Z",
  plain: "M-4,-4 H4 V4 H-4 Z",
};

DRAW.timeline = (host, data) => new Timeline(host, data);
