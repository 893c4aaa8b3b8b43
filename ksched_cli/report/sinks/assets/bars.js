// Stacked bars. Every segment can be reached with the keyboard and says what it is.

// The number of the colour of each series. `colours` has those that the page decides.
function series(names, colours = {}) {
  const numbers = new Map();
  for (const name of names) if (!numbers.has(name)) numbers.set(name, colours[name] ?? numbers.size % SERIES);
  return numbers;
}

function swatch(at) {
  return element("span", { class: `swatch s${at}`, "aria-hidden": "true" });
}

function legend(numbers) {
  return element("ul", { class: "legend", "aria-hidden": "true" }, [...numbers].map(([name, at]) => element("li", {}, swatch(at), name)));
}

// `rows`: [label, segments, text], a segment: [series, amount, lines of its tip].
function stackedBars(rows, whole, numbers) {
  const full = whole || Math.max(...rows.map(([, segments]) => segments.reduce((sum, each) => sum + each[1], 0)), 1e-9);
  return element("div", { class: "rows", role: "list" }, rows.map(([label, segments, text]) => {
    const parts = segments.filter((each) => each[1] > 0).map(([name, value, lines]) => {
      const part = element("button", { type: "button", class: `segment s${numbers.get(name)}`, "aria-label": lines.join(", ") });
      part.style.width = `${Math.min(100, (100 * value) / full)}%`;
      tipOn(part, lines);
      return part;
    });
    return element("div", { class: "row", role: "listitem" }, element("span", { class: "name" }, label), element("div", { class: "bar" }, parts), element("span", { class: "value" }, text));
  }));
}

DRAW.bars = (host, data) => {
  const numbers = series(data.rows.flatMap((row) => row.segments.map((each) => each[0])), data.colours);
  const value = (each) => (data.whole === 1 ? percent(each) : number(each));
  const rows = data.rows.map((row) => [row.label, row.segments.map(([name, each]) => [name, each, [row.label, `${name}: ${value(each)}`]]), row.text]);
  host.append(stackedBars(rows, data.whole, numbers), numbers.size > 1 ? legend(numbers) : "");
  const table = element("details", {}, element("summary", {}, "As a table"));
  table.addEventListener("toggle", () => {
    if (table.childElementCount > 1) return;
    const names = [...numbers.keys()];
    const columns = [{ name: "", kind: "text" }, ...names.map((name) => ({ name, kind: data.whole === 1 ? "share" : "number" })), { name: "In all", kind: "text" }];
    columns[0].name = "Of";
    const sum = (row, name) => row.segments.filter((each) => each[0] === name).reduce((all, each) => all + each[1], 0);
    new DataTable(table, { caption: data.caption, columns, tones: {}, rows: data.rows.map((row) => [row.label, ...names.map((name) => sum(row, name)), row.text]) });
  });
  host.append(table);
};
