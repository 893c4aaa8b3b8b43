// A table that sorts, filters, searches and shows a page of rows at a time, so that 100,000 rows are as fast as ten.

const ROWS_OF_PAGE = 50;
// On a phone a row may take a line for each cell.
const ROWS_ON_PHONE = 6;
const MOST_PRINTED = 2000;
const MOST_CHOICES = 60;
// Windows of so many pixels are those of phones.
const PHONE = 520;
const order = new Intl.Collator("en", { numeric: true });
const tables = [];

class DataTable {
  // `choose(row number, by the reader)` is called when a row is chosen; without it rows cannot be chosen.
  constructor(host, spec, choose = null, pageSize = ROWS_OF_PAGE) {
    if (innerWidth <= PHONE) pageSize = Math.min(pageSize, ROWS_ON_PHONE);
    Object.assign(this, { host, spec, choose, pageSize, page: 0, column: -1, ascending: true, query: "", wanted: {}, chosen: -1 });
    this.texts = new Array(spec.rows.length);
    this.rows = spec.rows.map((_, row) => row);
    this.build();
    this.refresh();
    tables.push(this);
  }

  build() {
    const { spec } = this;
    this.info = element("span", { class: "info", role: "status" });
    const search = element("input", { type: "search", placeholder: "Search", "aria-label": `Search in ${spec.caption}`, on: { input: () => this.setQuery(search.value) } });
    this.search = search;
    const filters = spec.columns.map((column, at) => (column.filters ? this.filter(column, at) : null));
    const many = spec.rows.length > 5;
    this.heads = spec.columns.map((column, at) =>
      element("th", { scope: "col", role: "columnheader", class: classOf(column), "aria-sort": "none" },
        element("button", { type: "button", class: classOf(column), on: { click: () => this.sort(at) } }, column.name)));
    this.body = element("tbody", { role: "rowgroup" });
    // The roles are those that a browser forgets where rows are shown as blocks.
    this.table = element("table", { class: this.choose ? "selectable" : null, role: "table" },
      element("caption", { class: "sr" }, spec.caption), element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, this.heads)), this.body);
    this.scroll = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Table: ${spec.caption}` }, this.table);
    this.pager = element("div", { class: "pager" });
    this.host.append(many ? element("div", { class: "controls" }, search, filters, this.info) : "",
      this.scroll, this.pager);
    new ResizeObserver(() => this.fit()).observe(this.host);
    if (this.choose) this.body.addEventListener("keydown", (event) => this.move(event));
  }

  filter(column, at) {
    const counts = new Map();
    for (const row of this.spec.rows) {
      const value = row[at];
      if (value !== "") counts.set(value, (counts.get(value) || 0) + 1);
    }
    if (counts.size < 2) return null;
    const most = [...counts].sort((a, b) => b[1] - a[1]).slice(0, MOST_CHOICES);
    const select = element("select", { on: { change: () => this.setFilter(at, select.value === "" ? null : most[Number(select.value)][0]) } },
      element("option", { value: "" }, "all"), most.map(([value, count], place) => element("option", { value: place }, `${short(value)} (${number(count)})`)));
    return element("label", {}, column.name, select);
  }

  setQuery(query) {
    const { suffix } = page.nodes;
    this.query = (suffix ? query.replaceAll(suffix, "") : query).toLowerCase();
    this.refresh();
  }

  setFilter(column, value) {
    if (value === null) delete this.wanted[column];
    else this.wanted[column] = value;
    this.refresh();
  }

  sort(column) {
    this.ascending = this.column === column ? !this.ascending : true;
    this.column = column;
    this.heads.forEach((head, at) => head.setAttribute("aria-sort", at !== column ? "none" : this.ascending ? "ascending" : "descending"));
    this.refresh();
  }

  text(row) {
    return (this.texts[row] ||= [...this.spec.rows[row].flat(), ...this.names(row)].join("\n").toLowerCase());
  }

  // The names of the rows that a row stands for.
  names(row) {
    return this.spec.names?.[row] || [];
  }

  refresh() {
    const { rows } = this.spec;
    const wanted = Object.entries(this.wanted);
    const words = this.query.split(/\s+/).filter(Boolean);
    this.rows = [];
    for (let row = 0; row < rows.length; row += 1) {
      if (wanted.every(([column, value]) => rows[row][column] === value) && words.every((word) => this.text(row).includes(word))) this.rows.push(row);
    }
    if (this.column >= 0) {
      const at = this.column;
      const sign = this.ascending ? 1 : -1;
      this.rows.sort((a, b) => sign * compare(rows[a][at], rows[b][at]) || a - b);
    }
    this.page = 0;
    this.draw();
  }

  draw(most = this.pageSize) {
    const first = this.page * this.pageSize;
    const shown = this.rows.slice(first, first + most);
    this.body.replaceChildren(...shown.map((row) => this.row(row)));
    if (!shown.length) this.body.append(element("tr", { role: "row" }, element("td", { role: "cell", colspan: this.spec.columns.length }, this.spec.rows.length ? "No row matches." : "There are none.")));
    const total = this.spec.rows.length;
    const whole = this.rows.reduce((sum, row) => sum + (this.names(row).length || 1), 0);
    const rows = this.rows.length === total ? `${number(total)} rows` : `${number(this.rows.length)} of ${number(total)} rows`;
    this.info.textContent = whole > this.rows.length ? `${rows} for ${number(whole)}` : rows;
    this.drawPager(first, shown.length);
    if (innerWidth <= PHONE) this.fit();
  }

  // A table that is too wide has narrow gaps. If that is not enough, and not on a phone: small text, no bars, and names that
  // break. If that is not enough either: a block for each row with a line for each cell.
  fit() {
    const { classList } = this.scroll;
    const isWide = () => this.table.offsetWidth > this.scroll.clientWidth;
    classList.remove("dense", "tight", "stacked");
    if (!isWide()) return;
    classList.add("dense");
    if (!isWide()) return;
    if (innerWidth > PHONE) classList.add("tight");
    if (!isWide()) return;
    classList.remove("dense", "tight");
    classList.add("stacked");
  }

  drawPager(first, count) {
    const pages = Math.ceil(this.rows.length / this.pageSize);
    this.pager.hidden = pages < 2;
    if (pages < 2) return;
    const to = (page) => () => {
      this.page = page;
      this.draw();
      this.pager.querySelector(page < this.last ? "[data-back]:not(:disabled)" : "[data-on]:not(:disabled)")?.focus();
      this.last = page;
    };
    const button = (text, page, off, mark) => element("button", { type: "button", disabled: off, [mark]: true, on: { click: to(page) } }, text);
    this.pager.replaceChildren(
      button("First", 0, this.page === 0, "data-back"), button("Previous", this.page - 1, this.page === 0, "data-back"),
      element("span", {}, `${number(first + 1)} to ${number(first + count)} of ${number(this.rows.length)}`),
      button("Next", this.page + 1, this.page + 1 >= pages, "data-on"), button("Last", pages - 1, this.page + 1 >= pages, "data-on"));
  }

  row(row) {
    const cells = this.spec.columns.map((column, at) => this.cell(this.spec.rows[row][at], column, at, row));
    const attributes = { role: "row", class: row === this.chosen ? "chosen" : null };
    if (this.choose) attributes.on = { click: () => this.select(row, true) };
    return element("tr", attributes, cells);
  }

  cell(value, column, at, row) {
    if (at === 0) {
      const names = this.names(row);
      const folded = names.length ? element("details", { class: "names" }, element("summary", {}, value), nameList(names)) : value;
      const content = this.choose ? element("button", { type: "button", "aria-pressed": row === this.chosen, "data-row": row }, value) : folded;
      return element("th", { scope: "row", role: "rowheader", class: classOf(column) || oneLine(value) }, content);
    }
    return element("td", { role: "cell", "data-name": column.name, class: classOf(column) || oneLine(value) }, shown(value, column, this.spec.tones));
  }

  // Choose a row; `go` to its page if it is on another one.
  select(row, byReader, go = false) {
    this.chosen = row;
    const place = this.rows.indexOf(row);
    if (go && place >= 0 && Math.floor(place / this.pageSize) !== this.page) this.page = Math.floor(place / this.pageSize);
    const focused = this.body.contains(document.activeElement);
    this.draw();
    if (focused) this.body.querySelector(`button[data-row="${row}"]`)?.focus();
    this.choose(row, byReader);
  }

  move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const at = Number(event.target.dataset.row);
    if (!step || Number.isNaN(at)) return;
    const next = this.rows[this.rows.indexOf(at) + step];
    if (next === undefined) return;
    event.preventDefault();
    this.select(next, true, true);
    this.body.querySelector(`button[data-row="${next}"]`)?.focus();
  }
}

const MOST_NAMES = 300;

// The names as a list; with `choose` each is a button.
function nameList(names, choose = null) {
  const left = names.length - MOST_NAMES;
  const entry = (name, at) => (choose ? element("button", { type: "button", on: { click: () => choose(at) } }, name) : name);
  return element("ul", { tabindex: 0, "aria-label": "Rows that are alike" }, names.slice(0, MOST_NAMES).map((each, at) => element("li", {}, entry(each, at))), left > 0 ? element("li", {}, `and ${number(left)} more`) : "");
}

function short(value) {
  const text = String(value);
  return text.length > 60 ? `${text.slice(0, 59)}\u2026` : text;
}

// Names do not break at their hyphens if they are short.
function oneLine(value) {
  return String(value).length <= 34 ? "line" : null;
}

function classOf(column) {
  return ["number", "share", "amount"].includes(column.kind) ? "number" : column.wide ? "wide" : null;
}

function compare(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : order.compare(String(a ?? ""), String(b ?? ""));
}

function shown(value, column, tones) {
  if (value === null || value === undefined || value === "") return "";
  if (column.kind === "badge") return element("span", { class: `badge tone-${tones[value] || "plain"}` }, value);
  if (column.kind === "number") return number(value);
  if (column.kind === "list") return value.join(", ");
  if (column.kind === "share") {
    const fill = element("span");
    fill.style.width = `${Math.min(100, 100 * value)}%`;
    return [element("span", { class: "share", "aria-hidden": "true" }, fill), percent(value)];
  }
  return column.wide || !oneLine(value) || innerWidth <= PHONE ? breakable(String(value)) : value;
}

// Long words such as paths break after a slash or a dot, also in lines that do not wrap.
function breakable(text) {
  return text.split(/(?<=\w\/)(?=\S{6})|(?<=[\w\]]\.)(?=\S{10})/).flatMap((part, at) => (at ? [element("wbr"), part] : [part]));
}

addEventListener("beforeprint", () => tables.forEach((each) => { each.page = 0; each.draw(MOST_PRINTED); }));
addEventListener("afterprint", () => tables.forEach((each) => each.draw()));

DRAW.table = (host, data) => new DataTable(host, data);
