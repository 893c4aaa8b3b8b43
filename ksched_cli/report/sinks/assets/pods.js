// The pods as a table, and everything about the one that is chosen: the node map shows the answers of nodes to it.

class Pods {
  constructor(host, data, name) {
    Object.assign(this, { host, data, name, cache: new Map() });
    this.series = new Map((data.plugins || []).map((each, at) => [each, at % SERIES]));
    const list = element("div");
    this.detail = element("aside", { class: "detail", tabindex: -1, "aria-label": "The chosen pod" });
    if (data.alone) {
      host.append(this.detail);
      this.show(0, false);
      return;
    }
    host.append(element("div", { class: "master" }, list, this.detail));
    this.table = new DataTable(list, data.table, (row, byReader) => this.show(row, byReader), 20);
    this.open();
    addEventListener("hashchange", () => this.open());
  }

  // `#pods=shop/web-1` names a pod; without it the first one is shown.
  open() {
    const { rows } = this.data.table;
    const wanted = new URLSearchParams(location.hash.slice(1)).get(this.name);
    const row = wanted === null ? -1 : rows.findIndex((each, at) => each[0] === wanted || this.table.names(at).includes(wanted));
    if (row >= 0) {
      this.table.select(row, false, true);
      const member = this.table.names(row).indexOf(wanted);
      if (member >= 0) this.show(row, false, member);
    }
    else if (this.table.chosen < 0 && rows.length) this.table.select(0, false);
    else if (!rows.length) this.detail.hidden = true;
  }

  failure(number) {
    const [plugin, text] = this.data.failures[number - 1];
    return text || plugin;
  }

  // A row may stand for several pods: `member` is one of them.
  show(row, byReader, member = -1) {
    const names = this.table?.names(row) || [];
    const at = member < 0 ? this.data.order[row] : this.data.members[row][member];
    const pod = this.data.pods[at];
    const cells = member < 0 ? this.data.table.rows[row] : [names[member], ...this.data.table.rows[row].slice(1)];
    if (byReader && location.protocol !== "about:") history.replaceState(null, "", `#${new URLSearchParams([[this.name, member < 0 && names.length ? names[0] : cells[0]]])}`);
    const answers = pod.answers && nodes.names ? answersOf(this.data.pods, at, this.cache) : null;
    this.detail.replaceChildren(...podDetail(cells, pod, answers, this, nameList(names, (each) => this.show(row, true, each))));
    this.detail.scrollTop = 0;
    if (byReader) announce(`${cells[0]}: ${cells.slice(1).filter((each) => each !== "").join(", ")}`);
    const without = pod.whole ? `${pod.whole[0]} rejects it before any node is looked at.` : "";
    emit("pod", { name: cells[0], answers, failure: (each) => this.failure(each), to: pod.to, from: pod.from, nominated: pod.nominated, without, room: this.data.room });
  }
}

function podDetail(cells, pod, answers, pods, names) {
  const { columns, tones } = pods.data.table;
  const badge = columns.findIndex((each) => each.kind === "badge");
  const parts = [element("h3", {}, cells[0], " ", badge > 0 ? shown(cells[badge], columns[badge], tones || {}) : "")];
  const say = (text, kind = null) => text && parts.push(element("p", { class: kind }, text));
  if (pod.from || pod.to) say(pod.from && pod.to ? `${pod.from} \u2192 ${pod.to}` : pod.to ? `\u2192 ${pod.to}` : `was on ${pod.from}`);
  if (pod.nominated && !pod.to) say(`nominated to ${pod.nominated}: it waits until the victims have left`);
  if (pod.ties > 1) say(`${number(pod.ties)} nodes tie for the highest total; the lowest name wins.`);
  say(pod.message, "message");
  for (const line of pod.lines || []) say(line);
  if (names.childElementCount) parts.push(element("details", { class: "names" }, element("summary", {}, "The pods of this row"), names));
  if (pod.missing) say(`Could differ: the cluster did not show ${pod.missing.join(", ")}.`);
  if (pod.whole) parts.push(element("h4", {}, "Rejected before any node is looked at"), element("p", {}, `${pod.whole[0]}: ${pod.whole[1]}`));
  parts.push(...failureParts(pod, answers, pods), ...scoreParts(pod, pods), ...preemptionParts(pod));
  return parts;
}

function failureParts(pod, answers, pods) {
  const groups = answers ? failureGroups(answers, pods) : (pod.groups || []).map(([plugin, text, count, examples]) => ({ text, plugin, count, examples }));
  if (!groups.length) return [];
  const whole = answers ? answers.length : Math.max(...groups.map((each) => each.count));
  const rows = groups.map((each) => {
    const bar = element("div", { class: "bar" });
    const fill = element("span", { class: "segment s1" });
    fill.style.width = `${(100 * each.count) / whole}%`;
    bar.append(fill);
    return element("div", { class: "group" }, element("div", { class: "row slim" }, element("span", { class: "name" }, each.text || each.plugin), bar, element("span", { class: "value" }, counted(each.count, "node"))), nodeNames(each));
  });
  return [element("h4", {}, "Why nodes are rejected"), element("div", { class: "rows" }, rows)];
}

function failureGroups(answers, pods) {
  const groups = new Map();
  answers.forEach((answer, node) => {
    if (answer <= FEASIBLE) return;
    const [plugin, text] = pods.data.failures[answer - 1];
    const key = `${plugin}\n${text}`;
    if (!groups.has(key)) groups.set(key, { plugin, text, examples: [], count: 0 });
    const group = groups.get(key);
    group.count += 1;
    if (group.examples.length < MOST_NAMES) group.examples.push(nodes.names[node]);
  });
  return [...groups.values()].sort((a, b) => b.count - a.count);
}

function nodeNames(group) {
  const made = element("details", {}, element("summary", {}, `${group.plugin}: which nodes`));
  made.addEventListener("toggle", () => {
    if (made.childElementCount > 1) return;
    const left = group.count - group.examples.length;
    made.append(element("ul", { class: "names" }, group.examples.map((name) => element("li", {}, name))));
    if (left > 0) made.append(element("p", { class: "message" }, `and ${counted(left, "more node")}; the table of the node map has all of them`));
  });
  return made;
}

function scoreParts(pod, pods) {
  if (!pod.top || !pod.top.length) return [];
  const { plugins } = pods.data;
  const rows = pod.top.map(([node, total, scores]) => [node, scores.map(([plugin, raw, normalized, weighted]) =>
    [plugins[plugin], weighted, [`${plugins[plugin]} on ${node}`, `weighted ${number(weighted)}`, `normalised ${number(normalized)}`, `raw ${number(raw)}`]]), number(total)]);
  const used = new Map([...pods.series].filter(([name]) => rows.some(([, segments]) => segments.some((each) => each[0] === name && each[1] > 0))));
  return [element("h4", {}, `Weighted scores of the best ${rows.length === 1 ? "node" : `${rows.length} nodes`}`), stackedBars(rows, 0, pods.series), legend(used), scoreTable(pod, plugins)];
}

function scoreTable(pod, plugins) {
  const made = element("details", {}, element("summary", {}, "Scores as a table"));
  made.addEventListener("toggle", () => {
    if (made.childElementCount > 1) return;
    const columns = [{ name: "Node", kind: "text" }, { name: "Plugin", kind: "text" }, ...["Raw", "Normalised", "Weighted"].map((name) => ({ name, kind: "number" }))];
    const rows = pod.top.flatMap(([node, , scores]) => scores.map(([plugin, ...values]) => [node, plugins[plugin], ...values]));
    new DataTable(made, { caption: "Scores", columns, rows, tones: {} });
  });
  return made;
}

function preemptionParts(pod) {
  const found = pod.preemption;
  if (!found) return [];
  const budgets = found.pdbViolations ? `; this violates ${counted(found.pdbViolations, "disruption budget")}` : "";
  return [element("h4", {}, "Preemption"), element("p", {}, `On ${found.node} it evicts ${counted(found.victims.length, "pod")}${budgets}:`), element("ul", { class: "names" }, found.victims.map((each) => element("li", {}, each)))];
}

DRAW.pod = (host, data, name) => new Pods(host, { ...data, alone: true }, name);
DRAW.pods = (host, data, name) => new Pods(host, data, name);
