// The embedding to look at: views, colours, search, and what is near a node.

const FEW_EDGES = 2000, MOST_NEIGHBOURS = 40, MOST_LABELS = 8;

class Explorer {
  constructor(host, palette) {
    this.host = host;
    this.palette = palette;
    this.selected = this.partner = -1;
    this.isolated = null;
    this.build();
  }

  build() {
    this.tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "View" });
    this.colour = h("select", { id: "colour", onchange: () => { this.isolated = null; this.paint(); this.drawEdges(); } });
    this.edges = h("select", { id: "edges", onchange: () => this.drawEdges() },
      [["selected", "of the selected node"], ["all", "all"], ["none", "none"]].map(([value, name]) => h("option", { value }, name)));
    this.list = h("ul", { id: "matches", role: "listbox", "aria-label": "Nodes found", hidden: true });
    this.input = h("input", { id: "search", type: "search", role: "combobox", autocomplete: "off", spellcheck: "false", placeholder: "name of a node", "aria-controls": "matches", "aria-expanded": "false", "aria-autocomplete": "list",
      oninput: () => this.search(), onkeydown: (event) => this.searchKey(event), onblur: () => setTimeout(() => this.closeSearch(), 150) });
    this.frame = h("div", { class: "stage", id: "view", role: "tabpanel" });
    this.tip = h("div", { class: "tip", hidden: true });
    this.legend = h("div", { class: "legend", "aria-label": "Colours" });
    this.caption = h("p", { class: "faint caption" });
    this.inspector = h("aside", { class: "inspector", "aria-live": "polite", "aria-label": "The selected node" });
    const button = (text, label, act) => h("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
    this.frame.append(this.tip, h("div", { class: "zoom" },
      button("+", "Zoom in", () => this.stage.magnify(1.4)), button("\u2212", "Zoom out", () => this.stage.magnify(1 / 1.4)), button("\u21ba", "Reset the view", () => this.stage.reset())));
    this.host.replaceChildren(
      h("div", { class: "bar-top" }, this.tabs,
        h("div", { class: "tools" },
          h("label", { for: "search", class: "find" }, h("span", {}, "Find"), h("span", { class: "combo" }, this.input, this.list)),
          h("label", { for: "colour" }, h("span", {}, "Colour"), this.colour),
          h("label", { for: "edges" }, h("span", {}, "Edges"), this.edges))),
      h("div", { class: "split" }, h("div", {}, this.frame, this.legend, this.caption), this.inspector));
    this.stage = new Stage(this.frame, "The embedding");
    this.stage.paint = (context) => this.paintBelow(context);
    this.stage.write = (context) => this.writeAbove(context);
    this.stage.marked = () => this.selected >= 0 || Arrows.shown(this);
    if (!this.stage.gl) this.frame.append(h("p", { class: "notice nogl" }, "This browser offers no WebGL 2, so points cannot be drawn here. Search, neighbours and the rest of the report work."));
    this.listen();
  }

  open(embedded) {
    this.graph = new Graph(embedded);
    this.selected = this.partner = -1;
    this.isolated = null;
    this.stage.scene = null;
    const views = Object.keys(VIEWS).filter((name) => name === "exact" || this.graph.layouts[name === "disk" ? "hyperboloid" : name]);
    this.tabs.replaceChildren(...views.map((name) => h("button", { type: "button", role: "tab", id: `tab-${name}`, "data-view": name, "aria-controls": "view", onclick: () => this.view(name), onkeydown: (event) => this.tabKey(event, views) }, VIEWS[name].title)));
    this.colour.replaceChildren(...this.graph.columns.map((column, k) => h("option", { value: k }, clip(column.name, 30))));
    this.colour.disabled = this.graph.columns.length === 0;
    this.edges.disabled = !this.graph.edges;
    this.edges.value = this.graph.edges && this.graph.edges.length <= FEW_EDGES ? "all" : "selected";
    this.input.value = "";
    this.theme();
    this.view(this.kind && views.includes(this.kind) ? this.kind : embedded.exact.shape === "disk" ? "exact" : ["time", "disk"].find((name) => views.includes(name)) || views[0]);
    this.inspect();
  }

  theme() {
    const read = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const unit = (hex, alpha) => [...rgb(hex).map((value) => value / 255), alpha];
    this.stage.theme = { guide: unit(read("--guide"), 0.55), rim: unit(read("--card"), 1) };
    this.ink = { text: read("--ink"), faint: read("--faint"), guide: read("--guide"), card: read("--card"), sea: read("--sea"), accent: read("--accent"), warm: read("--warm"), why: read("--why"), line: read("--line") };
    if (this.stage.scene) { this.paint(); this.drawEdges(); }
  }

  view(name) {
    this.kind = name;
    for (const tab of this.tabs.children) {
      const on = tab.dataset.view === name;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
    }
    this.frame.setAttribute("aria-labelledby", `tab-${name}`);
    this.stage.tilt = this.stage.spin = undefined;
    this.stage.show(Scenes[name](this.graph));
    const space = this.graph.embedded.space.name;
    this.stage.canvas.setAttribute("aria-label", `${VIEWS[name].title}: ${this.graph.count} nodes embedded in ${space}. Arrow keys turn or move it, plus and minus zoom, 0 resets. Use Find to select a node.`);
    this.caption.textContent = VIEWS[name].about(space, this.graph.embedded);
    this.paint();
    this.drawEdges();
  }

  tabKey(event, views) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = views[(views.indexOf(this.kind) + step + views.length) % views.length];
    this.view(next);
    this.tabs.querySelector(`[data-view=${next}]`).focus();
    event.preventDefault();
  }

  // --- colours ---

  paint() {
    const graph = this.graph, count = graph.count, colours = new Uint8Array(4 * count), weights = new Float32Array(count);
    const column = graph.columns[this.colour.value], shades = column ? graph.shades(column, this.palette) : { of: () => rgb(this.ink.accent), entries: [] };
    this.shades = shades;
    const near = this.selected < 0 ? null : new Set([this.selected, this.partner, ...this.around.nearest.map((each) => each.node), ...this.around.neighbours.map((each) => each.node), ...Explained.nodes(this)]);
    for (let k = 0; k < count; k++) {
      const shown = !this.isolated || this.isolated.has(k);
      const [r, g, b] = shades.of(k), alpha = (near && !near.has(k) ? 0.42 : 0.95) * (shown ? 1 : 0.07);
      colours.set([r, g, b, Math.round(255 * alpha)], 4 * k);
      weights[k] = Math.min(1.8, 0.82 + 0.11 * Math.log2(1 + graph.neighbours[k].length)) * (near && near.has(k) ? 1.35 : 1);
    }
    this.stage.paintPoints(colours, weights);
    this.writeLegend(column, shades);
  }

  writeLegend(column, shades) {
    if (!column) return this.legend.replaceChildren();
    const title = h("span", { class: "legend-title" }, clip(column.name, 30) + (shades.logarithmic ? " (log scale)" : ""));
    if (shades.range)
      return this.legend.replaceChildren(title, h("span", { class: "ramp" }, Charts.plain(shades.range[0]), h("i", { style: { background: `linear-gradient(90deg, ${shades.stops.join(", ")})` } }), Charts.plain(shades.range[1])));
    this.legend.replaceChildren(title, ...shades.entries.map((entry) => h("button", { type: "button", class: "key", "aria-pressed": String(Boolean(this.isolated && this.isolated.label === entry.label)), title: `Show ${clip(entry.label)} alone`,
      onclick: () => { this.isolated = this.isolated && this.isolated.label === entry.label ? null : entry; this.paint(); } },
      h("span", { class: "dot", style: { background: entry.colour } }), clip(entry.label, 28), h("span", { class: "faint" }, entry.count.toLocaleString("en")))));
  }

  // --- what is drawn around the points ---

  paintBelow(context) {
    const stage = this.stage, scene = stage.scene, ink = this.ink;
    const [x, y] = stage.project(scene.centre || [0, 0, 0]), half = (Math.min(stage.width, stage.height) / 2) * (scene.margin || 0.92) * stage.zoom;
    if (scene.globe || scene.disk) {
      const radius = half * (scene.scale || 1), [cx, cy] = scene.disk ? [(stage.pan[0] * stage.fit()[0] + 1) * stage.width / 2, (1 - stage.pan[1] * stage.fit()[1]) * stage.height / 2] : [x, y];
      const shade = context.createRadialGradient(cx - radius * 0.35, cy - radius * 0.4, radius * 0.1, cx, cy, radius);
      shade.addColorStop(0, ink.card);
      shade.addColorStop(1, ink.sea);
      context.beginPath();
      context.arc(cx, cy, radius, 0, 2 * Math.PI);
      context.fillStyle = shade;
      context.fill();
      context.strokeStyle = ink.line;
      context.lineWidth = 1.2;
      context.stroke();
    }
    if (scene.bounds) this.paintAxes(context);
  }

  paintAxes(context) {
    const stage = this.stage, scene = stage.scene, ink = this.ink, { left, right, top, bottom } = stage.box();
    const [a, b] = stage.fit();
    const value = (axis, ndc) => { const u = (ndc / (axis ? b : a) - stage.pan[axis]) / stage.zoom; return scene.bounds[axis][0] + ((u + 1) / 2) * (scene.bounds[axis][1] - scene.bounds[axis][0]); };
    const xs = [value(0, (2 * left) / stage.width - 1), value(0, (2 * right) / stage.width - 1)], ys = [value(1, 1 - (2 * bottom) / stage.height), value(1, 1 - (2 * top) / stage.height)];
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = ink.faint;
    context.strokeStyle = ink.guide;
    context.lineWidth = 0.6;
    context.textAlign = "center";
    for (const tick of Charts.ticks(...xs, Math.max(3, stage.width / 110))) {
      const px = left + ((tick - xs[0]) / (xs[1] - xs[0])) * (right - left);
      context.beginPath(); context.moveTo(px, top); context.lineTo(px, bottom); context.stroke();
      context.fillText(Charts.plain(tick), px, bottom + 16);
    }
    context.textAlign = "right";
    for (const tick of Charts.ticks(...ys, 5)) {
      const py = bottom - ((tick - ys[0]) / (ys[1] - ys[0])) * (bottom - top);
      context.beginPath(); context.moveTo(left, py); context.lineTo(right, py); context.stroke();
      context.fillText(Charts.plain(tick), left - 7, py + 4);
    }
    context.textAlign = "center";
    context.fillStyle = ink.text;
    context.fillText(scene.axes[0], (left + right) / 2, bottom + 36);
    context.save();
    context.translate(15, (top + bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(scene.axes[1], 0, 0);
    context.restore();
  }

  writeAbove(context) {
    const stage = this.stage, ink = this.ink, size = stage.pointSize();
    const ring = (node, colour, width, radius) => {
      const [x, y, z] = stage.screenOf(node);
      if (stage.scene.fade && z < -0.1) return null;
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.stroke();
      return [x, y];
    };
    Arrows.draw(context, this);
    if (this.selected < 0) return;
    Explained.draw(context, this);
    for (const { node } of this.around.nearest) ring(node, ink.warm, 1.6, size * 0.75 + 3);
    for (const { node } of this.around.neighbours) ring(node, ink.accent, 1.6, size * 0.75 + 1);
    const places = [this.selected, this.partner].map((node) => (node < 0 ? null : ring(node, ink.text, 2.4, size * 0.8 + 5)));
    const below = places[0] && places[1] && places[1][1] >= places[0][1];  // names of a pair on its far sides
    if (places[0]) this.writeName(context, this.selected, places[0], Boolean(places[1]) && !below);
    if (places[1]) this.writeName(context, this.partner, places[1], below);
  }

  writeName(context, node, place, below) {
    const stage = this.stage, ink = this.ink, size = stage.pointSize(), text = clip(this.graph.names[node], 28);
    context.font = "600 13px system-ui, sans-serif";
    const wide = context.measureText(text).width, x = Math.max(4, Math.min(stage.width - wide - 18, place[0] + size + 8)), y = below ? Math.min(stage.height - 10, place[1] + size + 16) : Math.max(22, place[1] - size - 6);
    context.fillStyle = ink.card;
    context.globalAlpha = 0.9;
    context.beginPath();
    context.roundRect(x - 5, y - 15, wide + 10, 21, 5);
    context.fill();
    context.globalAlpha = 1;
    context.fillStyle = ink.text;
    context.fillText(text, x, y);
  }

  // A geodesic between two nodes, as the view shows it: the picture's own, or in the exact view the space's.
  path(a, b, steps) {
    const scene = this.stage.scene, at = scene.positions;
    if (scene.straight || (this.graph.drawn && scene.kind === "exact")) return [a, b].map((node) => [...at.subarray(3 * node, 3 * node + 3)]);
    if (scene.kind === "exact") return this.graph.points.geodesic(a, b, steps).map((x) => scene.raw(this.graph.points.exact(x, this.graph.embedded.exact)));
    const p = at.subarray(3 * a, 3 * a + 3), q = at.subarray(3 * b, 3 * b + 3);
    return Geometry.pictureGeodesic(scene.kind === "sphere" ? "sphere" : "hyperboloid", p, q, steps);
  }

  drawEdges() {
    const graph = this.graph, unit = (hex, alpha) => [...rgb(hex).map((value) => value / 255), alpha], wanted = this.edges.value, lines = [];
    if (wanted === "all" && graph.edges) {
      const paths = [], within = this.shades.entries.map(() => []), steps = graph.edges.length > 40000 ? 8 : 16;
      for (let k = 0; k < graph.edges.length; k += 2) {
        const [a, b] = [graph.edges[k], graph.edges[k + 1]], group = graph.edges.length <= FEW_EDGES ? this.shades.entries.findIndex((each) => each.has(a) && each.has(b)) : -1;
        (within[group] || paths).push(this.path(a, b, steps));
      }
      lines.push({ paths, colour: unit(this.ink.faint, Math.max(0.06, Math.min(0.5, 900 / graph.edges.length))) });
      within.forEach((some, k) => { if (some.length) lines.push({ paths: some, colour: unit(this.shades.entries[k].colour, 0.9) }); });
    }
    if (this.selected >= 0 && wanted !== "none") {
      lines.push({ paths: this.around.nearest.map(({ node }) => this.path(this.selected, node, 64)), colour: unit(this.ink.warm, 0.75) });
      lines.push({ paths: this.around.neighbours.slice(0, 400).map(({ node }) => this.path(this.selected, node, 64)), colour: unit(this.ink.accent, 0.9) });
    }
    if (this.partner >= 0) lines.push({ paths: [this.path(this.selected, this.partner, 64)], colour: unit(this.ink.text, 1) });
    this.stage.setLines(lines);
  }

  // --- search ---

  search() {
    const wanted = this.input.value.trim().toLowerCase();
    if (!wanted) return this.closeSearch();
    const found = [[], [], []];
    for (let k = 0; k < this.graph.count; k++) {
      const name = this.graph.names[k].toLowerCase(), at = name.indexOf(wanted);
      if (at < 0) continue;
      found[name === wanted ? 0 : at === 0 ? 1 : 2].push(k);
      if (found[0].length + found[1].length >= 200) break;
    }
    const matches = found.flat().slice(0, MOST_LABELS);
    this.active = matches.length ? 0 : -1;
    this.list.replaceChildren(...(matches.length
      ? matches.map((k, place) => h("li", { role: "option", id: `match-${place}`, "data-node": k, "aria-selected": String(place === 0), onmousedown: (event) => { event.preventDefault(); this.choose(k); } }, clip(this.graph.names[k], 60)))
      : [h("li", { class: "faint", role: "option", "aria-disabled": "true" }, "no such node")]));
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.mark();
  }

  mark() {
    [...this.list.children].forEach((item, k) => item.setAttribute("aria-selected", String(k === this.active)));
    if (this.active >= 0) this.input.setAttribute("aria-activedescendant", `match-${this.active}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  searchKey(event) {
    const count = this.list.querySelectorAll("[data-node]").length;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!count) return;
      this.active = (this.active + (event.key === "ArrowDown" ? 1 : count - 1)) % count;
      this.mark();
      event.preventDefault();
    } else if (event.key === "Enter") {
      const item = this.list.querySelector(`#match-${this.active}`);
      if (item && !this.list.hidden) this.choose(Number(item.dataset.node));
    } else if (event.key === "Escape") this.closeSearch();
  }

  choose(node) {
    this.closeSearch();
    this.select(node, true);
  }

  closeSearch() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  // --- a node ---

  // A partner, if there is one, is marked with it.
  select(node, centre = false, partner = -1) {
    this.selected = node;
    this.partner = partner;
    this.around = node < 0 ? null : this.graph.around(node);
    this.paint();
    this.drawEdges();
    if (node >= 0 && centre) this.stage.centreOn(node);
    this.inspect();
    if (this.onselect) this.onselect();
  }

  inspect() {
    const graph = this.graph, node = this.selected;
    if (node < 0) {
      return this.inspector.replaceChildren(h("h3", {}, "No node selected"),
        h("p", { class: "faint" }, "Click a point, or find a node by its name: its nearest points in the embedding appear here beside its neighbours in the graph."),
        h("p", { class: "faint" }, "Drag to turn or move, scroll or pinch to zoom. With the keyboard: arrow keys, + and \u2212, 0 to reset."), ...Explained.offer(this));
    }
    const name = graph.names[node], facts = [];
    for (const column of graph.columns) {
      const value = column.values[node], shown = column.labels.length ? (value >= 0 ? column.labels[value] : "none") : Charts.plain(value);
      facts.push(h("dt", {}, clip(column.name, 30)), h("dd", {}, clip(shown, 60)));
    }
    if (graph.precision) facts.push(h("dt", {}, "neighbours found"), h("dd", {}, Number.isFinite(graph.precision[node]) ? `${(100 * graph.precision[node]).toFixed(1)} %` : "has none"));
    const linked = new Set(graph.neighbours[node]);
    const row = (each, last, way = null) => h("tr", { "data-node": each.node, "data-distance": each.distance },
      h("td", {}, h("button", { type: "button", class: "link", onclick: () => this.select(each.node, true) }, clip(graph.names[each.node], 32))),
      h("td", { class: "number" }, each.distance.toPrecision(3)),
      each.type ? h("td", {}, h("span", { class: `type ${each.type}` }, each.type)) : null,
      way && h("td", { class: "way" }, way),
      h("td", { class: "number" }, last));
    const table = (id, rows, last, way = null) => h("div", { class: "scroll" }, h("table", { id, class: "near" },
      h("thead", {}, h("tr", {}, ["node", "distance", graph.points.causal ? "type" : null, way, last].filter(Boolean).map((title) => h("th", { scope: "col", class: title === "distance" || title === last ? "number" : "" }, title)))), h("tbody", {}, rows)));
    const parts = [h("h3", { class: "name", title: clip(name, 300) }, clip(name, 80))];
    if (name.length > 80) parts.push(h("details", {}, h("summary", {}, `whole name (${name.length.toLocaleString("en")} characters)`), h("p", { class: "whole" }, name)));
    if (this.partner >= 0) parts.push(h("p", { class: "faint partner" }, "marked together with ", h("button", { type: "button", class: "link", onclick: () => this.select(this.partner, true, node) }, clip(graph.names[this.partner], 32))));
    parts.push(h("dl", { class: "facts" }, facts), ...Explained.list(this));
    parts.push(h("h4", { class: "warm" }, h("i"), "Nearest in the embedding"), table("nearest", this.around.nearest.map((each) => row(each, linked.has(each.node) ? "yes" : "\u2013")), "linked"));
    if (graph.edges) {
      const some = this.around.neighbours.slice(0, MOST_NEIGHBOURS), more = this.around.neighbours.length - some.length;
      parts.push(h("h4", { class: "cool" }, h("i"), `Neighbours in the graph (${this.around.neighbours.length})`));
      parts.push(some.length ? table("neighbours", some.map((each) => row(each, String(each.rank), graph.way(node, each.node))), "rank", graph.ways && "edge") : h("p", { class: "faint" }, "It has none."));
      if (more > 0) parts.push(h("p", { class: "faint" }, `and ${more} more, further away`));
      else if (some.length) parts.push(h("p", { class: "faint" }, "Rank: its place among all nodes by distance; 1 is nearest."));
    }
    this.inspector.replaceChildren(...parts);
  }

  // --- pointer and keys ---

  listen() {
    const canvas = this.stage.canvas, held = new Map();
    let moved = 0, spread = 0;
    const place = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); held.set(event.pointerId, place(event)); moved = 0; spread = 0; });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = place(event);
      if (!held.has(event.pointerId)) return this.hover(x, y);
      const [oldX, oldY] = held.get(event.pointerId);
      held.set(event.pointerId, [x, y]);
      moved += Math.hypot(x - oldX, y - oldY);
      if (held.size === 1) {
        if (moved > 3) this.stage.drag(x - oldX, y - oldY);
      } else {
        const [[a, b], [c, d]] = [...held.values()], now = Math.hypot(a - c, b - d);
        if (spread) this.stage.magnify(now / spread, (a + c) / 2, (b + d) / 2);
        spread = now;
      }
      this.tip.hidden = true;
    });
    const release = (event) => {
      if (!held.delete(event.pointerId) || moved > 3 || event.type === "pointercancel") return;
      const [x, y] = place(event), node = this.stage.pick(x, y, event.pointerType === "touch" ? 22 : 12);
      this.select(node);
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    canvas.addEventListener("dblclick", (event) => { const node = this.stage.pick(...place(event)); if (node >= 0) this.stage.centreOn(node); });
    canvas.addEventListener("wheel", (event) => { event.preventDefault(); this.stage.magnify(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) / 240), ...place(event)); }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const step = 24, act = {
        ArrowLeft: () => this.stage.drag(-step, 0), ArrowRight: () => this.stage.drag(step, 0), ArrowUp: () => this.stage.drag(0, -step), ArrowDown: () => this.stage.drag(0, step),
        "+": () => this.stage.magnify(1.25), "=": () => this.stage.magnify(1.25), "-": () => this.stage.magnify(0.8), 0: () => this.stage.reset(), Escape: () => this.select(-1),
      }[event.key];
      if (act && !event.ctrlKey && !event.metaKey) { act(); event.preventDefault(); }
    });
  }

  hover(x, y) {
    if (this.hovering) return;
    this.hovering = true;
    requestAnimationFrame(() => {
      this.hovering = false;
      const node = this.stage.pick(x, y);
      this.tip.hidden = node < 0;
      if (node < 0) return;
      const column = this.graph.columns[this.colour.value];
      const value = column ? (column.labels.length ? column.labels[column.values[node]] ?? "none" : Charts.plain(column.values[node])) : "";
      this.tip.replaceChildren(h("b", {}, clip(this.graph.names[node], 40)), column ? ` ${clip(column.name, 20)}: ${clip(value, 40)}` : "");
      this.tip.style.left = `${Math.min(x + 14, this.stage.width - 180)}px`;
      this.tip.style.top = `${Math.max(4, y - 34)}px`;
    });
  }
}
