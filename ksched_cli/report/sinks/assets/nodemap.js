// The node map: a cell for each node, zone by zone. Cells are drawn on a canvas, so that 5,000 of them are fast; the arrow
// keys go from cell to cell, and a table has the same.

const nodes = page.nodes;
const FEASIBLE = 0;
const UNKNOWN = -1;
// Reasons that have a colour of their own; colour 0 is for nodes with room, the last but one for the others.
const REASON_COLOURS = [1, 2, 3, 4, 5];
const OTHER = 6;

// Nodes by number -> the number of a failure, 0 or -1. A pod's answers are those of an earlier pod with differences.
function answersOf(pods, at, cache) {
  const chain = [];
  let base = at;
  while (base !== undefined && !cache.has(base)) {
    chain.push(base);
    base = pods[base].answers.like;
  }
  let answers = base === undefined ? new Int32Array(nodes.names.length).fill(UNKNOWN) : cache.get(base);
  for (const pod of chain.reverse()) {
    answers = Int32Array.from(answers);
    for (const [failure, ranges] of Object.entries(pods[pod].answers.nodes)) {
      for (const range of ranges.split(",")) {
        const [first, last = first] = range.split("-").map(Number);
        answers.fill(Number(failure), first, last + 1);
      }
    }
    cache.set(pod, answers);
  }
  if (cache.size > 400) {
    cache.clear();
    cache.set(at, answers);
  }
  return answers;
}

class NodeMap {
  constructor(host, data) {
    Object.assign(this, { host, data, resource: "cpu", side: data.side || "after", groups: null, focus: -1, highlighted: null, marks: {} });
    this.zones = nodes.zones.map((name, at) => ({ name, members: [], at }));
    nodes.zone.forEach((zone, node) => this.zones[zone].members.push(node));
    // The nodes of a pool stand together.
    if (nodes.pool) for (const zone of this.zones) zone.members.sort((one, other) => nodes.pool[one] - nodes.pool[other] || one - other);
    this.cordoned = new Set(nodes.cordoned);
    this.build();
    this.resize();
    new ResizeObserver(() => this.resize()).observe(this.holder);
    for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", () => this.draw());
    addEventListener("beforeprint", () => this.draw());
    on("pod", (pod) => this.showPod(pod));
  }

  build() {
    const names = Object.keys(nodes.resources);
    const resource = element("select", { on: { change: () => this.setResource(resource.value) } }, names.map((name) => element("option", { value: name }, name)));
    this.choice = element("p", { class: "choice", role: "status" });
    this.legend = element("div", { class: "legend", role: "group", "aria-label": "Colours of the node map" });
    this.holder = element("div", { class: "zones" }, this.zones.map((zone) => this.figure(zone)));
    this.info = element("div", { class: "nodeinfo", hidden: true });
    const table = element("details", {}, element("summary", {}, `All ${counted(nodes.names.length, "node")} as a table`));
    this.tableHost = element("div");
    table.append(this.tableHost);
    table.addEventListener("toggle", () => table.open && this.drawTable());
    this.table = table;
    const side = element("select", { on: { change: () => { this.side = side.value; this.draw(); } } }, element("option", { value: "after" }, "after the run"), element("option", { value: "before" }, "before the run"));
    const choices = element("div", { class: "controls" }, element("label", {}, "Filled by", resource), !this.data.side && changes() ? element("label", {}, "Show", side) : "");
    this.host.append(choices, this.choice, this.holder, this.legend, this.info, table);
    this.describe();
    const { groups } = this.data;
    if (groups) this.groups = grouped(Int32Array.from(groups.answers), (each) => groups.texts[each], groups.texts[0], groups.colours);
    this.drawLegend();
  }

  figure(zone) {
    zone.caption = element("span");
    zone.canvas = element("canvas", { tabindex: 0, role: "application", "aria-roledescription": "node map", "aria-label": this.label(zone), on: {
      pointermove: (event) => this.point(zone, event), pointerleave: hideTip, blur: hideTip,
      click: (event) => this.click(zone, event), keydown: (event) => this.key(zone, event), focus: () => this.enter(zone) } });
    return element("figure", {}, element("figcaption", {}, zone.name || (this.zones.length > 1 ? "no zone" : "all nodes"), " ", zone.caption), zone.canvas);
  }

  label(zone) {
    return `Map of ${counted(zone.members.length, "node")} of ${zone.name ? `zone ${zone.name}` : "no zone"}. The arrow keys go from node to node, Enter shows one.`;
  }

  share(node, side) {
    const amounts = nodes.resources[this.resource];
    const used = amounts[side][node];
    return used === null ? null : used / (amounts.allocatable[node] || 1);
  }

  describe() {
    const amounts = nodes.resources[this.resource];
    for (const zone of this.zones) {
      const sum = (side) => zone.members.reduce((all, node) => all + (amounts[side][node] || 0), 0);
      const whole = sum("allocatable") || 1;
      const shares = [percent(sum("before") / whole), percent(sum("after") / whole)];
      const [before, after] = this.data.side ? [shares[0], this.data.side === "before" ? shares[0] : shares[1]] : shares;
      zone.caption.textContent = `${counted(zone.members.length, "node")}, ${this.resource} ${before === after ? after : `${before} \u2192 ${after}`}${this.pools(zone)}`;
    }
  }

  // `; pools: general 3, gpu 1`, in the order of the cells.
  pools(zone) {
    if (!nodes.pool) return "";
    const counts = new Map();
    for (const node of zone.members) counts.set(nodes.pool[node], (counts.get(nodes.pool[node]) || 0) + 1);
    const texts = [...counts].map(([pool, count]) => `${nodes.pools[pool] || "no pool"} ${count}`);
    return `; ${texts.length > 1 ? "pools" : "pool"}: ${texts.slice(0, 6).join(", ")}${texts.length > 6 ? ` and ${texts.length - 6} more` : ""}`;
  }

  setResource(resource) {
    this.resource = resource;
    this.describe();
    this.draw();
  }

  resize() {
    const count = nodes.names.length;
    this.named = count <= (innerWidth < 600 ? 20 : 60);
    const crowded = innerWidth < 600 ? count * 3 : count;
    this.cell = this.named ? 54 : crowded <= 400 ? 26 : crowded <= 2000 ? 15 : crowded <= 6000 ? 10 : 7;
    this.gap = this.cell < 12 ? 1 : 3;
    const sizes = this.zones.map((zone) => zone.canvas.clientWidth);
    if (sizes.every((size, at) => size === this.sizes?.[at])) return;
    this.sizes = sizes;
    this.zones.forEach((zone, at) => {
      const width = Math.max(60, sizes[at]);
      // An outline reaches 1.5 pixels beyond its cell on every side.
      const inside = width - 3 + this.gap;
      zone.columns = this.named ? Math.max(1, Math.min(zone.members.length, Math.floor(inside / 125))) : Math.max(1, Math.floor(inside / (this.cell + this.gap)));
      zone.wide = this.named ? Math.min(190, inside / zone.columns - this.gap) : this.cell;
      zone.height = Math.ceil(zone.members.length / zone.columns) * (this.cell + this.gap) + 3;
      const density = devicePixelRatio || 1;
      zone.canvas.width = Math.round(width * density);
      zone.canvas.height = Math.round(zone.height * density);
      zone.canvas.style.height = `${zone.height}px`;
    });
    this.draw();
  }

  place(zone, at) {
    return [1.5 + (at % zone.columns) * (zone.wide + this.gap), 1.5 + Math.floor(at / zone.columns) * (this.cell + this.gap)];
  }

  draw() {
    this.colours = Object.fromEntries(["back", "track", "text", "soft", "line", "focus", ...Array.from({ length: SERIES }, (_, at) => `c${at}`)].map((name) => [name, colour(name)]));
    for (const zone of this.zones) {
      const context = zone.canvas.getContext("2d");
      const density = devicePixelRatio || 1;
      context.setTransform(density, 0, 0, density, 0, 0);
      context.clearRect(0, 0, zone.canvas.width, zone.canvas.height);
      zone.members.forEach((node, at) => this.drawCell(context, zone, node, ...this.place(zone, at)));
      zone.members.forEach((node, at) => this.drawMark(context, zone, node, ...this.place(zone, at)));
      // A line stands before the first cell of each other pool.
      context.fillStyle = this.colours.soft;
      zone.members.forEach((node, at) => {
        const [x, y] = this.place(zone, at);
        if (nodes.pool && at % zone.columns && nodes.pool[node] !== nodes.pool[zone.members[at - 1]]) context.fillRect(x - this.gap / 2 - 0.75, y, 1.5, this.cell);
      });
    }
  }

  group(node) {
    return this.groups ? this.groups.of[this.groups.answers[node] + 1] : 0;
  }

  drawCell(context, zone, node, x, y) {
    const [width, height] = [zone.wide, this.cell];
    const shade = this.colours[`c${this.group(node)}`];
    const dim = this.highlighted !== null && this.group(node) !== this.highlighted;
    const [before, after] = [this.share(node, "before"), this.share(node, "after")];
    const now = this.side === "before" ? before : after;
    const fill = (color, alpha, from, to) => {
      const [low, high] = [Math.min(1, from) * height, Math.min(1, to) * height];
      context.fillStyle = color;
      context.globalAlpha = dim ? alpha * 0.25 : alpha;
      context.fillRect(x, y + height - high, width, high - low);
    };
    fill(this.colours.track, 1, 0, 1);
    if (now === null) {
      this.cross(context, x, y, width, height);
    } else {
      if (this.groups) fill(shade, 0.28, 0, 1);
      if (this.side === "before" || before === null || before >= after) fill(shade, 0.62, 0, now);
      else {
        fill(shade, 0.62, 0, before);
        fill(shade, 1, before, Math.max(after, before + 1.5 / height));
      }
    }
    context.globalAlpha = 1;
    if (this.cordoned.has(node) && height >= 10) this.stripe(context, x, y, width, height);
    if (this.named) this.write(context, node, now, before, after, x, y, width);
  }

  cross(context, x, y, width, height) {
    context.strokeStyle = this.colours.soft;
    context.lineWidth = 1;
    context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + width, y + height);
    context.stroke();
  }

  // Cordoned nodes have a bar at the left.
  stripe(context, x, y, width, height) {
    context.fillStyle = this.colours.text;
    context.fillRect(x, y, Math.max(2, Math.min(5, width / 8)), height);
  }

  write(context, node, now, before, after, x, y, width) {
    const left = x + (this.cordoned.has(node) ? 12 : 7);
    const off = this.cordoned.has(node) ? ", cordoned" : "";
    const texts = [nodes.names[node], now === null ? (before === null ? "not there yet" : "removed") : !this.data.side && before !== null && after !== null && percent(before) !== percent(after) ? `${percent(before)} \u2192 ${percent(after)}` : percent(now) + off];
    texts.forEach((text, line) => {
      context.font = `${line ? "" : "600 "}12px system-ui, sans-serif`;
      const room = x + width - left - 5;
      let shown = text;
      // The nodes of a pool differ at the end of their names.
      for (let cut = 1; cut < text.length && context.measureText(shown).width > room; cut += 1) {
        const head = Math.ceil((text.length - cut) / 3);
        shown = `${text.slice(0, head)}\u2026${text.slice(head + cut)}`;
      }
      const wide = context.measureText(shown).width;
      context.globalAlpha = 0.82;
      context.fillStyle = this.colours.back;
      context.fillRect(left - 3, y + 6 + 20 * line, wide + 6, 17);
      context.globalAlpha = 1;
      context.fillStyle = this.colours.text;
      context.textBaseline = "middle";
      context.fillText(shown, left, y + 15 + 20 * line);
    });
  }

  drawMark(context, zone, node, x, y) {
    const mark = this.marks[node];
    const focused = node === this.focus && document.activeElement === zone.canvas;
    if (!mark && !focused) return;
    context.lineWidth = this.cell < 12 ? 2 : 3;
    context.strokeStyle = focused ? this.colours.focus : this.colours.text;
    context.setLineDash(mark === "from" && !focused ? [4, 3] : []);
    context.strokeRect(x, y, zone.wide, this.cell);
    context.setLineDash([]);
  }

  // What a node is about, as lines of a tip.
  lines(node) {
    const lines = [fullName(node)];
    const zone = nodes.zones[nodes.zone[node]];
    if (zone) lines.push(`zone ${zone}`);
    if (nodes.pool && nodes.pools[nodes.pool[node]]) lines.push(`pool ${nodes.pools[nodes.pool[node]]}`);
    if (this.cordoned.has(node)) lines.push("cordoned");
    for (const [name, amounts] of Object.entries(nodes.resources)) {
      if (lines.length > 8) break;
      lines.push(`${name}: ${useText(amounts, node)}`);
    }
    const answer = this.answer(node);
    if (answer) lines.push(answer);
    return lines;
  }

  answer(node) {
    if (!this.groups) return "";
    const mark = { to: "the pod's node", from: "the pod's node before", nominated: "nominated: the pod waits for it" }[this.marks[node]];
    return [this.groups.text(this.groups.answers[node]), mark].filter(Boolean).join("; ");
  }

  find(zone, event) {
    const box = zone.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - 1.5) / (zone.wide + this.gap));
    const row = Math.floor((event.clientY - box.top - 1.5) / (this.cell + this.gap));
    const at = row * zone.columns + column;
    return column >= 0 && row >= 0 && column < zone.columns && at < zone.members.length ? at : -1;
  }

  point(zone, event) {
    const at = this.find(zone, event);
    if (at < 0) hideTip();
    else showTip(this.lines(zone.members[at]), event.clientX, event.clientY);
  }

  click(zone, event) {
    const at = this.find(zone, event);
    if (at >= 0) this.select(zone, at);
  }

  enter(zone) {
    if (nodes.zone[this.focus] !== zone.at) this.step(zone, 0);
    else this.step(zone, zone.members.indexOf(this.focus));
  }

  key(zone, event) {
    const at = zone.members.indexOf(this.focus);
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: zone.columns, ArrowUp: -zone.columns, Home: -at, End: zone.members.length - 1 - at };
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.select(zone, at);
    } else if (event.key in steps) {
      event.preventDefault();
      const next = at + steps[event.key];
      if (next >= 0 && next < zone.members.length) this.step(zone, next);
    }
  }

  step(zone, at) {
    this.focus = zone.members[at];
    this.draw();
    const lines = this.lines(this.focus);
    const [x, y] = this.place(zone, at);
    const box = zone.canvas.getBoundingClientRect();
    showTip(lines, box.left + x + zone.wide / 2, box.top + y + this.cell);
    announce(lines.join(", "));
  }

  select(zone, at) {
    const node = zone.members[at];
    this.focus = node;
    this.draw();
    this.showNode(node);
  }

  showNode(node) {
    const [name, ...rest] = this.lines(node);
    const placed = this.data.placed ? this.data.placed[node] || [] : null;
    this.info.hidden = false;
    this.info.replaceChildren(element("h3", {}, name), ...rest.map((line) => element("p", { class: "message" }, line)),
      placed && placed.length ? element("p", {}, `Placed here by this run: ${placed.join(", ")}`) : "");
    announce(`${name}: ${rest.join(", ")}`);
    emit("node", node);
  }

  // `pod`: name, answers by node (null: none known), text of a failure, and the nodes to mark.
  showPod(pod) {
    this.marks = {};
    this.groups = null;
    this.highlighted = null;
    if (pod) {
      const number = (name) => nodes.names.indexOf(name);
      const kinds = { before: ["from"], after: ["nominated", "to"] }[this.data.side] || ["from", "nominated", "to"];
      for (const kind of kinds) if (pod[kind] && number(pod[kind]) >= 0) this.marks[number(pod[kind])] = kind;
      if (pod.answers) this.groups = grouped(pod.answers, pod.failure, pod.room);
    }
    this.choice.textContent = pod ? `Colours show the answer of each node to ${pod.name}.` : "";
    if (pod && !pod.answers) this.choice.textContent = `${pod.name}: ${pod.without || "the outline marks its node."}`;
    this.drawLegend();
    this.draw();
    if (this.table.open) this.drawTable();
  }

  drawLegend() {
    const button = (group, text, count) => element("button", { type: "button", "aria-pressed": this.highlighted === group, on: { click: () => this.highlight(group) } }, swatch(group), `${text} (${number(count)})`);
    this.legend.replaceChildren(...(this.groups ? this.groups.list.map((each) => button(each.colour, each.text, each.count)) : []));
  }

  highlight(group) {
    this.highlighted = this.highlighted === group ? null : group;
    this.drawLegend();
    this.draw();
    this.legend.querySelectorAll("button")[this.groups.list.findIndex((each) => each.colour === group)]?.focus();
  }

  drawTable() {
    const resources = Object.entries(nodes.resources).slice(0, 5);
    const columns = [{ name: "Node", kind: "text" }];
    const zoned = nodes.zones.some(Boolean);
    if (zoned) columns.push({ name: "Zone", kind: "text", filters: true });
    if (nodes.pool) columns.push({ name: "Pool", kind: "text", filters: true });
    if (this.groups) columns.push({ name: this.data.groups ? "Result" : "Answer to the pod", kind: "text", filters: true, wide: true });
    // What the run does not change has one column.
    const sides = ([, amounts]) => (differs(amounts) ? ["before", "after"] : ["after"]);
    for (const each of resources) columns.push(...sides(each).map((side, _, all) => ({ name: all.length > 1 ? `${each[0]} ${side}` : each[0], kind: "share" })));
    const share = (amounts, side, node) => (amounts[side][node] === null ? null : amounts[side][node] / (amounts.allocatable[node] || 1));
    const rows = nodes.names.map((name, node) => [name, ...(zoned ? [nodes.zones[nodes.zone[node]]] : []), ...(nodes.pool ? [nodes.pools[nodes.pool[node]]] : []), ...(this.groups ? [this.answer(node)] : []),
      ...resources.flatMap((each) => sides(each).map((side) => share(each[1], side, node)))]);
    this.tableHost.replaceChildren();
    new DataTable(this.tableHost, { caption: "Nodes", columns, rows, tones: {} });
  }
}

// The name with the suffix that the names of the page are shown without.
function fullName(node) {
  return nodes.names[node] + (nodes.suffix && !nodes.whole.includes(node) ? nodes.suffix : "");
}

function useText(amounts, node) {
  const { unit, allocatable, before, after } = amounts;
  const [was, is] = [before[node], after[node]];
  const whole = allocatable[node];
  if (is === null) return "the node is removed";
  const change = was !== null && was !== is ? `${amount(was, unit)} \u2192 ` : "";
  return `${change}${amount(is, unit)} of ${amount(whole, unit)} (${whole ? percent(is / whole) : "none there"})`;
}

// Failures with the same text are one group; the smallest groups share a colour. `fixed`: colours by text.
function grouped(answers, failure, room = "has room", fixed = {}) {
  const text = (each) => (each === FEASIBLE ? room : each === UNKNOWN ? "not looked at" : failure(each));
  const counts = new Map();
  const of = [];
  let highest = 0;
  for (const each of answers) highest = Math.max(highest, each);
  const numbers = new Array(highest + 2).fill(0);
  for (const each of answers) numbers[each + 1] += 1;
  numbers.forEach((count, at) => count && counts.set(text(at - 1), (counts.get(text(at - 1)) || 0) + count));
  const reasons = [...counts].filter(([each]) => each !== text(FEASIBLE) && each !== text(UNKNOWN)).sort((a, b) => b[1] - a[1]);
  const colours = new Map([[text(FEASIBLE), 0], [text(UNKNOWN), OTHER], ...Object.entries(fixed)]);
  const rest = reasons.slice(reasons.length > REASON_COLOURS.length ? REASON_COLOURS.length - 1 : reasons.length);
  reasons.slice(0, reasons.length - rest.length).forEach(([each], at) => colours.has(each) || colours.set(each, REASON_COLOURS[at]));
  rest.forEach(([each]) => colours.set(each, REASON_COLOURS[REASON_COLOURS.length - 1]));
  numbers.forEach((count, at) => { of[at] = count ? colours.get(text(at - 1)) : 0; });
  const list = [];
  if (counts.has(text(FEASIBLE))) list.push({ colour: 0, text: text(FEASIBLE), count: counts.get(text(FEASIBLE)) });
  for (const [each, count] of reasons.slice(0, reasons.length - rest.length)) list.push({ colour: colours.get(each), text: each, count });
  if (rest.length) list.push({ colour: REASON_COLOURS[REASON_COLOURS.length - 1], text: `${counted(rest.length, "other reason")}`, count: rest.reduce((sum, [, count]) => sum + count, 0) });
  if (counts.has(text(UNKNOWN))) list.push({ colour: OTHER, text: text(UNKNOWN), count: counts.get(text(UNKNOWN)) });
  return { answers, of, list, text };
}

// Whether the run changes what pods request of any node.
function changes() {
  return Object.values(nodes.resources).some(differs);
}

function differs({ before, after }) {
  return before.some((amount, node) => amount !== after[node]);
}

DRAW.map = (host, data) => {
  if (!data.compare) return new NodeMap(host, data);
  const sides = ["before", "after"].map((side) => [side, element("div", { role: "group", "aria-label": `Nodes ${side}` }, element("h3", {}, side === "before" ? "Before" : "After"))]);
  host.append(element("div", { class: "sides" }, sides.map(([, box]) => box)));
  const maps = sides.map(([side, box]) => new NodeMap(box, { ...data, side }));
  // One table has both sides, below both maps.
  maps[0].table.remove();
  host.append(maps[1].table);
  return maps;
};
