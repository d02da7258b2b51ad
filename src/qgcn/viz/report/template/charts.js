// Small charts: lines and columns as SVG, bars as table rows that a screen reader can read.

// Build an element; strings become text, never markup.
function h(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "path", "line", "text", "rect", "circle", "title", "polyline"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined && child !== false) element.append(child);
  return element;
}

const Charts = (() => {
  function ticks(low, high, count) {
    const span = high - low || 1, raw = span / count, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((unit) => unit * power).find((each) => each >= raw);
    const found = [];
    for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) found.push(Math.abs(value) < step * 1e-9 ? 0 : value);
    return found;
  }

  const plain = (value) => {
    if (value === null || value === undefined || !Number.isFinite(value)) return "\u2013";
    const size = Math.abs(value);
    if (size >= 1000) return Math.round(value).toLocaleString("en");
    if (size !== 0 && size < 0.001) return value.toExponential(1);
    return String(Number(value.toPrecision(3)));
  };

  const WIDE = window.innerWidth < 600 ? 340 : 520, HIGH = 250, LEFT = 62, RIGHT = 26, TOP = 12, BOTTOM = 42;

  function frame(label, xs, ys, xLabel, yLabel) {
    const x = (value) => LEFT + ((value - xs[0]) / (xs[1] - xs[0] || 1)) * (WIDE - LEFT - RIGHT);
    const y = (value) => HIGH - BOTTOM - ((value - ys[0]) / (ys[1] - ys[0] || 1)) * (HIGH - TOP - BOTTOM);
    const svg = h("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": label, class: "chart" });
    for (const value of ticks(...ys, 4)) {
      svg.append(h("line", { x1: LEFT, x2: WIDE - RIGHT, y1: y(value), y2: y(value), class: "grid" }));
      svg.append(h("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end", class: "tick" }, plain(value)));
    }
    for (const value of ticks(...xs, WIDE < 400 ? 4 : 6))
      svg.append(h("text", { x: x(value), y: HIGH - BOTTOM + 18, "text-anchor": "middle", class: "tick" }, plain(value)));
    svg.append(h("line", { x1: LEFT, x2: WIDE - RIGHT, y1: HIGH - BOTTOM, y2: HIGH - BOTTOM, class: "axis" }));
    svg.append(h("text", { x: (LEFT + WIDE - RIGHT) / 2, y: HIGH - 6, "text-anchor": "middle", class: "label" }, xLabel));
    svg.append(h("text", { x: 12, y: (TOP + HIGH - BOTTOM) / 2, "text-anchor": "middle", class: "label", transform: `rotate(-90 12 ${(TOP + HIGH - BOTTOM) / 2})` }, yLabel));
    return { svg, x, y };
  }

  const extent = (values) => values.reduce(([low, high], value) => (Number.isFinite(value) ? [Math.min(low, value), Math.max(high, value)] : [low, high]), [Infinity, -Infinity]);

  // series: [{name, x, y, colour}]
  function lines({ title, about, series, xLabel, yLabel }) {
    const xs = extent(series.flatMap((each) => each.x)), ys = extent(series.flatMap((each) => each.y));
    const room = (ys[1] - ys[0] || Math.abs(ys[1]) || 1) * 0.06;
    const summary = series.slice(0, 6).map((each) => `${each.name} ends at ${plain(each.y[each.y.length - 1])}`).join("; ");
    const { svg, x, y } = frame(`${title}. ${summary}.`, xs, [ys[0] - room, ys[1] + room], xLabel, yLabel);
    for (const each of series) {
      const points = each.x.map((value, k) => [x(value), y(each.y[k])]).filter(([, b]) => Number.isFinite(b));
      const line = h("polyline", { points: points.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" "), class: "series", stroke: each.colour });
      line.append(h("title", {}, each.name));
      svg.append(line);
      if (points.length === 1) svg.append(h("circle", { cx: points[0][0], cy: points[0][1], r: 3, fill: each.colour }));
    }
    const legend = series.length > 1 && series.length <= 8
      ? h("ul", { class: "keys" }, series.map((each) => h("li", {}, h("span", { class: "dot", style: { background: each.colour } }), each.name))) : null;
    return h("figure", {}, h("figcaption", {}, h("b", {}, title), about ? h("span", {}, about) : null), svg, legend);
  }

  // Columns over a numeric axis; negative ones hang from 0, in the colour "below".
  function columns({ title, about, x: at, y: values, x_label, y_label, colour, below }) {
    const gap = at.length > 1 ? Math.min(...at.slice(1).map((value, k) => value - at[k])) : 1, [low, high] = extent(at);
    const [least, most] = extent(values), bottom = Math.min(0, least * 1.05), top = Math.max(0, most * 1.05) || (bottom ? 0 : 1), peak = values.indexOf(most);
    const summary = `${at.length} columns from ${plain(low)} to ${plain(high)}, the highest ${plain(most)}${y_label ? ` ${y_label}` : ""} at ${plain(at[peak])}` + (least < 0 ? `, the lowest ${plain(least)} at ${plain(at[values.indexOf(least)])}` : "");
    const { svg, x, y } = frame(`${title}: ${summary}.`, [low - gap / 2, high + gap / 2], [bottom, top], x_label || "", y_label || "");
    if (bottom < 0) svg.append(h("line", { x1: LEFT, x2: WIDE - RIGHT, y1: y(0), y2: y(0), class: "axis" }));
    at.forEach((value, k) => {
      const left = x(value - gap * 0.44), right = x(value + gap * 0.44);
      const bar = h("rect", { x: left, width: Math.max(1, right - left), y: y(Math.max(0, values[k])), height: Math.abs(y(0) - y(values[k])), fill: values[k] < 0 ? below || colour : colour, rx: 1.5 });
      bar.append(h("title", {}, `${plain(value)}: ${plain(values[k])}`));
      svg.append(bar);
    });
    return h("figure", {}, h("figcaption", {}, h("b", {}, title), about ? h("span", {}, about) : null), svg);
  }

  // groups: [{name, count, score}] with scores from 0 to 1
  function bars({ title, about, groups, colour }) {
    const row = (group, k) => h("tr", {},
      h("th", { scope: "row" }, group.name),
      h("td", { class: "bar" }, h("span", { style: { width: `${100 * Math.max(0, Math.min(1, group.score))}%`, background: typeof colour === "function" ? colour(group, k) : colour } })),
      h("td", { class: "number" }, `${(100 * group.score).toFixed(1)}\u00a0%`),
      h("td", { class: "number faint" }, group.count.toLocaleString("en")));
    return h("figure", {}, h("figcaption", {}, h("b", {}, title), h("span", {}, about)),
      h("table", { class: "bars" },
        h("thead", {}, h("tr", {}, ["group", "", "score", "count"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, groups.map(row))));
  }

  return { lines, columns, bars, ticks, plain, extent };
})();
