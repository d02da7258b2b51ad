// A graph as the page uses it: arrays unpacked, neighbours listed, colours of its columns.

const NEAREST = 10;

function decode(array) {
  if (!array) return null;
  const text = atob(array.data), bytes = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k);
  return array.type === "float32" ? new Float32Array(bytes.buffer) : new Int32Array(bytes.buffer);
}

const clip = (name, most = 48) => (name.length > most ? `${name.slice(0, most - 1)}\u2026` : name);
const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

function mixed(stops, share) {
  const at = Math.max(0, Math.min(1, share)) * (stops.length - 1), k = Math.min(stops.length - 2, Math.floor(at));
  const [a, b] = [rgb(stops[k]), rgb(stops[k + 1])];
  return a.map((value, n) => Math.round(value + (b[n] - value) * (at - k)));
}

// A graph as it is used: arrays unpacked, neighbours listed.
class Graph {
  constructor(embedded) {
    this.embedded = embedded;
    this.names = embedded.names;
    this.count = embedded.names.length;
    this.points = new Geometry.Points(decode(embedded.points), this.count, embedded.space);
    this.edges = decode(embedded.edges);
    this.measured = embedded.measured && Object.fromEntries(Object.entries(embedded.measured).map(([name, array]) => [name, decode(array)]));
    this.drawn = decode(embedded.exact.coordinates);
    this.precision = decode(embedded.precision);
    this.columns = embedded.columns.map((column) => ({ ...column, values: decode(column.values) }));
    this.layouts = Object.fromEntries(Object.entries(embedded.layouts).map(([name, array]) => [name, decode(array)]));
    this.explained = new Map(embedded.explained.map((each) => [each.node, each.edges.map(([source, target, importance]) => ({ source, target, importance }))]));
    this.ways = decode(embedded.ways);
    this.neighbours = Array.from({ length: this.count }, () => []);
    if (this.edges)
      for (let k = 0; k < this.edges.length; k += 2) {
        this.neighbours[this.edges[k]].push(this.edges[k + 1]);
        this.neighbours[this.edges[k + 1]].push(this.edges[k]);
      }
  }

  // Which way the edge between a node and a neighbour leads, as a sign; none where edges have no direction.
  way(node, other) {
    if (!this.ways) return null;
    this.signs = this.signs || new Map(Array.from(this.ways, (way, k) => [`${this.edges[2 * k]} ${this.edges[2 * k + 1]}`, way]));
    const forth = this.signs.get(`${node} ${other}`), back = this.signs.get(`${other} ${node}`);
    return [null, "\u2192", "\u2190", "\u2194"][forth || (back === 3 ? 3 : back && 3 - back)];
  }

  // The exact view of a node: from its point, or as it was computed for a space whose formulas the page does not know.
  exact(node) {
    const view = this.embedded.exact;
    return this.drawn ? [this.drawn[2 * node], this.drawn[2 * node + 1], 0] : this.points.exact(this.points.at(node), view);
  }

  // The nearest nodes by the space's own distance, and where the neighbours in the graph stand among them.
  around(node) {
    if (this.measured) return this.listed(node);
    const distance = this.points.distancesFrom(node);
    const order = Array.from({ length: this.count }, (_, k) => k).filter((k) => k !== node);
    order.sort((a, b) => distance[a] - distance[b] || a - b);
    const rank = new Map(order.map((k, place) => [k, place + 1]));
    const entry = (k) => ({ node: k, distance: distance[k], rank: rank.get(k), type: this.points.causal ? this.points.causalType(node, k) : null });
    const neighbours = [...this.neighbours[node]].sort((a, b) => rank.get(a) - rank.get(b));
    return { nearest: order.slice(0, NEAREST).map(entry), neighbours: neighbours.map(entry) };
  }

  // The same of a space whose distances the page cannot compute, from lists.
  listed(node) {
    const { nearest, distance, length, rank } = this.measured, many = nearest.length / this.count;
    const near = Array.from({ length: many }, (_, k) => ({ node: nearest[node * many + k], distance: distance[node * many + k], rank: k + 1, type: null }));
    const neighbours = [];
    for (let k = 0; k < length.length; k++)
      for (const end of [0, 1]) if (this.edges[2 * k + end] === node) neighbours.push({ node: this.edges[2 * k + 1 - end], distance: length[k], rank: rank[2 * k + end], type: null });
    return { nearest: near, neighbours: neighbours.sort((a, b) => a.rank - b.rank) };
  }

  // Categories in the order of the palette: as given if there are few, else the largest first and the rest together.
  shades(column, palette) {
    const theme = document.documentElement.dataset.theme, other = rgb(palette.other[theme]);
    if (column.labels.length === 0) {
      const known = Array.from(column.values).filter(Number.isFinite);
      const positive = known.every((value) => value >= 0) && Math.max(...[...known.slice(0, 1), 0]) >= 0;
      const [low, high] = Charts.extent(known), logarithmic = positive && high > 20 * Math.max(1, low);
      const scale = (value) => (logarithmic ? Math.log1p(value) : value), stops = palette.sequence[theme];
      const share = (value) => (scale(value) - scale(low)) / (scale(high) - scale(low) || 1);
      return { of: (k) => (Number.isFinite(column.values[k]) ? mixed(stops, share(column.values[k])) : other), range: [low, high], stops, logarithmic, entries: [] };
    }
    const colours = palette.categories[theme], size = new Array(column.labels.length).fill(0);
    for (const value of column.values) if (value >= 0) size[value]++;
    const order = column.labels.map((_, k) => k).filter((k) => size[k] > 0);
    if (column.labels.length > colours.length) order.sort((a, b) => size[b] - size[a]);
    const place = new Array(column.labels.length).fill(-1);
    order.slice(0, colours.length).forEach((label, k) => { place[label] = k; });
    const entries = order.slice(0, colours.length).map((label, k) => ({ label: column.labels[label], colour: colours[k], count: size[label], has: (node) => column.values[node] === label }));
    const rest = Array.from(column.values).filter((value) => value < 0 || place[value] < 0).length;
    if (rest) entries.push({ label: column.labels.length > colours.length ? "others" : "none", colour: palette.other[theme], count: rest, has: (node) => column.values[node] < 0 || place[column.values[node]] < 0 });
    return { of: (k) => (column.values[k] >= 0 && place[column.values[k]] >= 0 ? rgb(colours[place[column.values[k]]]) : other), entries };
  }
}
