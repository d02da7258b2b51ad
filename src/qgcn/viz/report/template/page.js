// The page: what was run in words, the explorer, listings, quality, curves, comparison, settings.

(() => {
  const data = JSON.parse(document.getElementById("data").textContent), root = document.documentElement;
  const palette = data.palette, subjects = data.subjects;
  let current = 0, explorer = null;

  root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const colours = () => palette.categories[root.dataset.theme];
  const percent = (value) => (value === null || value === undefined ? "\u2013" : (100 * value).toFixed(2));
  const isShare = (name, subject) => !subject.errors.includes(name);
  const shownScore = (name, value, subject) => (isShare(name, subject) ? percent(value) : Charts.plain(value));
  const titled = (name, subject) => subject.titles[name] || name.replaceAll("_", " ");
  const withSpread = (score, seeds, subject) => (score ? shownScore(score.name, score.mean, subject) + (seeds > 1 && score.std !== null ? ` \u00b1 ${shownScore(score.name, score.std, subject)}` : "") : "\u2013");
  const seedsOf = (subject) => subject.settings.seeds || 1;
  const section = (id, title, ...content) => h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), ...content);

  function header() {
    const one = subjects.length === 1, first = subjects[0].settings;
    const toggle = h("button", { type: "button", class: "theme", id: "theme", "aria-label": "Switch between light and dark", onclick: () => {
      root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
      if (explorer) explorer.theme();
      redraw();
    } }, h("span", { class: "sun", "aria-hidden": "true" }));
    return h("header", {},
      h("div", {}, h("p", { class: "over" }, one ? [first.task, clip(String(first.data).split("/").pop(), 40), first.space].filter(Boolean).join("  \u00b7  ") : "comparison"),
        h("h1", {}, one ? clip(subjects[0].name, 80) : `${subjects.length} runs side by side`)), toggle);
  }

  // as they were given: an edge that leads both ways is two
  const edgesOf = (graph) => graph.edges.shape[0] + (graph.ways ? decode(graph.ways).filter((way) => way === 3).length : 0);

  function overview(subject) {
    const score = subject.scores.find((each) => each.name === subject.metric), settings = subject.settings;
    const graph = subject.embedded, tile = (value, name) => h("div", { class: "tile" }, h("b", {}, value), h("span", {}, name));
    const tiles = [score ? tile(withSpread(score, seedsOf(subject), subject) + (isShare(score.name, subject) ? " %" : ""), titled(score.name, subject)) : null,
      settings.space ? tile(settings.space, "space") : null,
      graph ? tile(graph.names.length.toLocaleString("en"), "nodes") : null,
      graph && graph.edges ? tile(edgesOf(graph).toLocaleString("en"), "edges") : null,
      graph && graph.space.curvatures.length === 1 && graph.space.curvatures[0] ? tile(graph.space.curvatures[0].toFixed(3).replace("-", "\u2212"), "curvature") : null];
    return [h("div", { class: "words" }, subject.words.map((text) => h("p", {}, text))), subject.notices.map((text) => h("p", { class: "notice", role: "note" }, text)), h("div", { class: "tiles" }, tiles)];
  }

  function yardsticks(subject) {
    if (!subject.yardsticks.length) return null;
    const names = subject.scores.map((score) => score.name).filter((name) => subject.yardsticks.some((each) => Number.isFinite(each.scores[name])));
    const mean = (name) => subject.scores.find((score) => score.name === name).mean;
    const best = Object.fromEntries(names.map((name) => { const values = [mean(name), ...subject.yardsticks.map((each) => each.scores[name])].filter(Number.isFinite); return [name, isShare(name, subject) ? Math.max(...values) : Math.min(...values)]; }));
    const cell = (name, value, text) => h("td", { class: "number" }, value === best[name] ? h("b", {}, text) : text);
    const row = (name, cells) => h("tr", {}, h("th", { scope: "row" }, name), cells);
    return section("yardsticks", "Was it worth it?", h("p", { class: "faint" }, `The model beside methods that take seconds${subject.held_out ? ", on the same split" : ""}. The best of each column is bold.`), h("div", { class: "scroll" }, h("table", { id: "methods" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "method"), names.map((name) => h("th", { scope: "col", class: "number" }, titled(name, subject))))),
      h("tbody", {}, row([subject.settings.model, subject.settings.space].filter(Boolean).join(" in "), names.map((name) => cell(name, mean(name), withSpread(subject.scores.find((score) => score.name === name), seedsOf(subject), subject)))),
        subject.yardsticks.map((each) => row(each.name, names.map((name) => cell(name, each.scores[name], Number.isFinite(each.scores[name]) ? shownScore(name, each.scores[name], subject) : "\u2013"))))))));
  }

  function quality(subject) {
    const graph = subject.embedded;
    if (!graph || (!graph.quality.length && !graph.worst.length)) return null;
    const classes = graph.columns.find((column) => column.name === "class");
    const shade = (each) => (group) => { const k = each.title.endsWith("by class") && classes && classes.labels.length <= colours().length ? classes.labels.indexOf(group.name) : -1; return k >= 0 ? colours()[k] : colours()[0]; };
    const figures = h("div", { class: "grid" }, graph.quality.map((each) => Charts.bars({ ...each, colour: shade(each) })));
    const parts = [figures];
    if (graph.worst.length) {
      const values = decode(graph.precision), degree = graph.columns.find((column) => column.name === "degree"), degrees = degree ? decode(degree.values) : null, kinds = classes ? decode(classes.values) : null;
      parts.push(h("h3", {}, "Where the embedding is worst"), h("p", { class: "faint" }, "Nodes whose nearest points are least their neighbours. Choose one to see it in the picture."),
        h("div", { class: "scroll" }, h("table", { id: "worst" },
          h("thead", {}, h("tr", {}, ["node", "neighbours found", "degree", classes ? "class" : null].filter(Boolean).map((name) => h("th", { scope: "col", class: name === "node" || name === "class" ? "" : "number" }, name)))),
          h("tbody", {}, graph.worst.map((k) => h("tr", { "data-node": k },
            h("td", {}, h("button", { type: "button", class: "link", onclick: () => { explorer.select(k, true); document.getElementById("explore").scrollIntoView({ behavior: "smooth" }); } }, clip(graph.names[k], 48))),
            h("td", { class: "number" }, `${(100 * values[k]).toFixed(2)} %`), h("td", { class: "number" }, degrees ? String(degrees[k]) : "\u2013"),
            classes ? h("td", {}, kinds[k] >= 0 ? clip(classes.labels[kinds[k]], 40) : "none") : null))))));
    }
    return section("quality", "How good it is, and where", parts);
  }

  function listings(subject) {
    const places = subject.embedded ? new Map(subject.embedded.names.map((name, k) => [name, k])) : new Map();
    const pick = ([node, partner = -1]) => { explorer.select(node, true, partner); explore.scrollIntoView({ behavior: "smooth" }); };
    return subject.listings.map((each) => section(`listing-${each.name}`, each.title, Listings.build(each, subject.name, (name) => places.get(name), pick)));
  }

  function curveFigures(list) {
    const series = (key) => list.map((each, k) => ({ name: each.name, x: each.curve.epoch, y: each.curve[key], colour: colours()[k % colours().length] }));
    const { metric, held } = list[0];
    return h("div", { class: "grid" },
      Charts.lines({ title: "Loss", about: "on the training data", series: series("loss"), xLabel: "epoch", yLabel: "loss" }),
      Charts.lines({ title: metric ? `${held ? "Validation" : "Score"}: ${metric}` : "Score", about: held ? "on nodes or edges held out, by which the best model is chosen" : "of the graph that is embedded", series: series("score"), xLabel: "epoch", yLabel: metric || "score" }));
  }

  const curveOf = (subject, curve, name) => ({ name, curve, metric: subject.curve_metric && titled(subject.curve_metric, subject), held: subject.held_out });

  function curves(subject) {
    const list = subject.curves.map((curve) => curveOf(subject, curve, subject.curves.length > 1 ? `seed ${curve.seed}` : subject.name));
    return list.length ? section("curves", "How training went", curveFigures(list)) : null;
  }

  function seeds(subject) {
    if (subject.seeds.length < 2) return null;
    const names = Object.keys(subject.seeds[0].test || {});
    return section("seeds", "Every seed", h("div", { class: "scroll" }, h("table", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "seed"), h("th", { scope: "col", class: "number" }, "best epoch"), names.map((name) => h("th", { scope: "col", class: "number" }, titled(name, subject))))),
      h("tbody", {}, subject.seeds.map((each) => h("tr", {}, h("th", { scope: "row" }, String(each.seed) + (each.seed === subject.shown ? " (shown)" : "")), h("td", { class: "number" }, String(each.best_epoch)), names.map((name) => h("td", { class: "number" }, shownScore(name, each.test[name], subject))))),
        h("tr", { class: "sum" }, h("th", { scope: "row" }, "mean \u00b1 deviation"), h("td"), names.map((name) => h("td", { class: "number" }, withSpread(subject.scores.find((score) => score.name === name), subject.seeds.length, subject))))))));
  }

  function analysis() {
    const found = data.analysis;
    if (!found) return null;
    const charts = (found.charts || []).map((each) => (each.kind === "line" ? Charts.lines({ ...each, series: [{ name: each.title, x: each.x, y: each.y, colour: colours()[0] }], xLabel: each.x_label || "", yLabel: each.y_label || "" }) : Charts.columns({ ...each, colour: colours()[0], below: colours()[1] })));
    return section("analysis", found.graph ? `The geometry of the graph ${clip(found.graph, 60)}` : "The geometry of the graph",
      h("div", { class: "words" }, (found.words || []).map((text) => h("p", {}, text))),
      found.facts ? h("dl", { class: "facts measured" }, Object.entries(found.facts).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, typeof value === "number" ? Charts.plain(value) : String(value))])) : null,
      h("div", { class: "grid" }, charts));
  }

  function settings(subject) {
    const list = (values) => h("dl", { class: "facts wide" }, Object.entries(values).flatMap(([name, value]) => [h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, clip(typeof value === "object" ? JSON.stringify(value) : String(value), 400))]));
    return section("settings", "Settings", h("details", {}, h("summary", {}, "All settings of the run"), list(subject.settings)),
      Object.keys(subject.environment).length ? h("details", {}, h("summary", {}, "Versions and machine"), list({ ...subject.environment.packages, ...Object.fromEntries(Object.entries(subject.environment).filter(([name]) => name !== "packages")) })) : null);
  }

  // --- several runs ---

  function miniature(subject, k) {
    const canvas = h("canvas", { width: 320, height: 320, "aria-hidden": "true" }), label = `${subject.name}: ${subject.settings.space || ""}`;
    const button = h("button", { type: "button", class: "mini", "data-run": k, "aria-pressed": String(k === current), "aria-label": `Show ${label}`, onclick: () => choose(k) }, canvas, h("b", {}, clip(subject.name, 30)), h("span", {}, [subject.settings.model, subject.settings.space].filter(Boolean).join(" in ")));
    if (!subject.embedded) return h("div", { class: "mini" }, h("b", {}, clip(subject.name, 30)), h("span", {}, "no embedding yet"));
    const graph = graphs(k), context = canvas.getContext("2d"), at = graph.layouts.hyperboloid;
    const column = graph.columns[0], shades = column ? graph.shades(column, palette) : null;
    let place;
    if (at) place = (n) => [at[3 * n] / (1 + at[3 * n + 2]), at[3 * n + 1] / (1 + at[3 * n + 2])];
    else { const scene = Scenes.exact(graph), scale = (scene.scale || 1) * 0.95; place = (n) => [scene.positions[3 * n] * scale, scene.positions[3 * n + 1] * scale]; }
    const style = getComputedStyle(root), radius = Math.max(1.2, Math.min(5, 60 / Math.sqrt(graph.count)));
    if (at) { context.beginPath(); context.arc(160, 160, 152, 0, 2 * Math.PI); context.fillStyle = style.getPropertyValue("--sea"); context.fill(); context.strokeStyle = style.getPropertyValue("--line"); context.stroke(); }
    for (let n = 0; n < graph.count; n++) {
      const [x, y] = place(n), [r, g, b] = shades ? shades.of(n) : rgb(colours()[0]);
      context.fillStyle = `rgb(${r} ${g} ${b} / 0.8)`;
      context.beginPath();
      context.arc(160 + 152 * x, 160 - 152 * y, radius, 0, 2 * Math.PI);
      context.fill();
    }
    return button;
  }

  const opened = new Map();
  function graphs(k) {
    if (!opened.has(k)) opened.set(k, new Graph(subjects[k].embedded));
    return opened.get(k);
  }

  function comparison() {
    if (subjects.length < 2) return null;
    const same = subjects.every((each) => each.settings.task === subjects[0].settings.task && each.settings.data === subjects[0].settings.data);
    const names = [...new Set(subjects.flatMap((each) => each.scores.map((score) => score.name)))];
    const owner = Object.fromEntries(names.map((name) => [name, subjects.find((each) => each.scores.some((score) => score.name === name))]));
    const best = Object.fromEntries(names.map((name) => { const means = subjects.map((each) => each.scores.find((score) => score.name === name)?.mean ?? NaN).filter(Number.isFinite); return [name, isShare(name, owner[name]) ? Math.max(...means) : Math.min(...means)]; }));
    const table = h("table", { id: "comparison" },
      h("thead", {}, h("tr", {}, ["run", "task", "data", "model", "space"].map((name) => h("th", { scope: "col" }, name)), h("th", { scope: "col", class: "number" }, "seeds"), names.map((name) => h("th", { scope: "col", class: "number" }, titled(name, owner[name]))))),
      h("tbody", {}, subjects.map((each, k) => h("tr", {}, h("th", { scope: "row" }, h("button", { type: "button", class: "link", onclick: () => choose(k) }, clip(each.name, 40))),
        ["task", "data", "model", "space"].map((name) => h("td", {}, clip(String(each.settings[name] ?? "\u2013").split("/").pop(), 30))), h("td", { class: "number" }, String(seedsOf(each))),
        names.map((name) => { const score = each.scores.find((one) => one.name === name), top = same && score && score.mean === best[name]; return h("td", { class: "number" }, top ? h("b", {}, withSpread(score, seedsOf(each), each)) : withSpread(score, seedsOf(each), each)); })))));
    const list = subjects.filter((each) => each.curves.length).map((each) => curveOf(each, each.curves[0], each.name));
    return section("compare", "Side by side", h("div", { class: "scroll" }, table),
      same ? null : h("p", { class: "faint" }, "The runs differ in task or data: their scores are not comparable across rows."),
      h("div", { class: "minis" }, subjects.map(miniature)), same && list.length > 1 ? curveFigures(list) : null);
  }

  function choose(k) {
    current = k;
    show();
    document.getElementById("overview").scrollIntoView({ behavior: "smooth" });
  }

  // --- all of it ---

  const host = document.getElementById("report"), slots = { top: h("div"), lists: h("div"), low: h("div") };
  const explore = section("explore", "The embedding", h("div", { id: "explorer" }));

  function redraw() {
    const subject = subjects[current], many = subjects.length > 1;
    const title = many ? `What was run: ${clip(subject.name, 60)}` : "What was run";
    slots.top.replaceChildren(...[comparison(), section("overview", title, overview(subject))].filter(Boolean));
    slots.low.replaceChildren(...[yardsticks(subject), quality(subject), curves(subject), seeds(subject), analysis(), settings(subject)].filter(Boolean));
  }

  function show() {
    const subject = subjects[current];
    redraw();
    slots.lists.replaceChildren(...listings(subject));
    explore.hidden = !subject.embedded;
    if (!subject.embedded) return;
    if (!explorer) {
      explorer = new Explorer(document.getElementById("explorer"), palette);
      explorer.onselect = () => slots.lists.querySelectorAll(".chosen").forEach((row) => row.classList.remove("chosen"));
      window.qgcn = { explorer };  // for the console: qgcn.explorer.select(3)
    }
    explorer.open(subject.embedded);
  }

  host.replaceChildren(header(), h("main", {}, slots.top, explore, slots.lists, slots.low), h("footer", {}, `Written by qgcn ${data.version}. This file needs no network.`));
  show();
  root.dataset.ready = "true";
})();
