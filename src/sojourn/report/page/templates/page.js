// What all charts of the page share: arrays, colours, drawing, printing.
"use strict";

const report = {
  facts: JSON.parse(document.getElementById("facts").textContent),
  charts: [],
  makers: {},
  printing: false,
  dark: window.matchMedia("(prefers-color-scheme: dark)"),
  block: new Uint8Array(0),

  async inflate(id) {
    const text = atob(document.getElementById(id).textContent.trim());
    const packed = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  },

  // The bytes of an array lie place by place: all lowest ones first.
  unpack({ at, n, kind, delta }) {
    const type = { u1: Uint8Array, u2: Uint16Array, i4: Int32Array, f4: Float32Array, f8: Float64Array }[kind];
    const size = type.BYTES_PER_ELEMENT;
    const bytes = new Uint8Array(n * size);
    for (let place = 0; place < size; place++) {
      for (let i = 0; i < n; i++) bytes[i * size + place] = report.block[at + place * n + i];
    }
    const values = new type(bytes.buffer);
    if (delta) for (let i = 1; i < n; i++) values[i] += values[i - 1];
    return values;
  },

  theme() {
    return report.facts.themes[report.dark.matches && !report.printing ? "dark" : "light"];
  },

  // Colours are written as @0, @1, ..., @ink, @muted, @faint, @paper, with /0.2 for opacity.
  painted(value, theme = report.theme(), color = false) {
    if (typeof value === "string") return color && value.startsWith("@") ? report.colored(value, theme) : value;
    if (Array.isArray(value)) {
      return color || typeof value[0] === "object" ? value.map((v) => report.painted(v, theme, color)) : value;
    }
    if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
    const parts = Object.entries(value).map(([key, v]) => [key, report.painted(v, theme, color || /color/.test(key))]);
    return Object.fromEntries(parts);
  },

  colored(name, theme) {
    const [plain, opacity] = name.slice(1).split("/");
    const color = /^\d+$/.test(plain) ? theme.palette[plain % theme.palette.length] : theme[plain];
    if (opacity === undefined) return color;
    const part = (i) => parseInt(color.slice(i, i + 2), 16);
    return `rgba(${part(1)}, ${part(3)}, ${part(5)}, ${opacity})`;
  },

  // Plotly reads some tags and entities in its texts; names of others are to stay as they are.
  plain(text) {
    return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  },

  // Colours of waits: gray for jobs that started at once, then a scale that also prints in gray.
  waitScale() {
    const { atOnce, waits } = report.theme();
    const stops = waits.map((color, i) => [0.03 + (0.97 * i) / (waits.length - 1), color]);
    return [[0, atOnce], [0.03, atOnce], ...stops];
  },

  layout(node, layout) {
    const axis = { gridcolor: "@faint", zerolinecolor: "@faint", linecolor: "@muted", automargin: true, exponentformat: "none", separatethousands: true };
    const whole = {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, sans-serif", size: 12, color: "@ink" },
      hoverlabel: { bgcolor: "@paper", bordercolor: "@muted", font: { color: "@ink" } },
      margin: { l: 56, r: 12, t: 30, b: 44 },
      legend: { orientation: "h", x: 0, xanchor: "left", yref: "container", y: 0, yanchor: "bottom" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: "@muted", activecolor: "@ink" },
      uirevision: "kept",
      autosize: true,
      ...layout,
    };
    for (const key of Object.keys(whole)) {
      if (/^[xy]axis\d*$/.test(key)) whole[key] = { ...axis, ...whole[key] };
    }
    whole.width = node.clientWidth;
    whole.height = node.clientHeight;
    return report.painted(whole);
  },

  settings: {
    displaylogo: false,
    responsive: false,
    doubleClick: "reset",
    doubleClickDelay: 500,
    showTips: false,
    // Nothing of a report is sent anywhere.
    showSendToCloud: false,
    plotlyServerURL: "",
    modeBarButtonsToRemove: ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"],
  },

  // A chart is a node and a function that returns its data and layout as they are now.
  async add(node, figure) {
    const chart = {
      node,
      draw: () => {
        const { data, layout } = figure();
        return Plotly.react(node, report.painted(data), report.layout(node, layout), report.settings);
      },
    };
    report.charts.push(chart);
    await chart.draw();
    node.dataset.drawn = "yes";
    return chart;
  },

  redraw() {
    for (const chart of report.charts) chart.draw();
  },

  choose(node, label, choices, chosen, change) {
    const place = node.parentElement.querySelector(".controls");
    const box = document.createElement("label");
    const list = document.createElement("select");
    for (const [value, text] of choices) list.add(new Option(text, value, false, value === chosen));
    list.addEventListener("change", () => change(list.value));
    box.append(`${label} `, list);
    place.append(box);
  },

  number(value) {
    if (!Number.isFinite(value)) return "–";
    const size = Math.abs(value);
    if (size === 0 || size >= 100) return Math.round(value).toLocaleString("en");
    return size < 1e-3 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
  },

  duration(seconds) {
    const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
    const [length, unit] = units.find(([size]) => seconds >= 0.9995 * size) ?? [1, "s"];
    return `${report.number(seconds / length)} ${unit}`;
  },

  async begin() {
    const failed = document.getElementById("failed");
    try {
      const source = new TextDecoder().decode(await report.inflate("plotly"));
      const script = document.createElement("script");
      script.textContent = source;
      document.head.append(script);
      report.block = await report.inflate("arrays");
      for (const [id, spec] of Object.entries(report.facts.charts)) {
        await report.makers[spec.kind](document.getElementById(id), spec);
      }
    } catch (error) {
      failed.hidden = false;
      failed.append(` ${error}`);
      throw error;
    }
    const printed = (yes) => () => {
      report.printing = yes;
      document.body.classList.toggle("printing", yes);
      for (const fold of document.querySelectorAll("details")) fold.open = yes;
      report.redraw();
    };
    window.addEventListener("beforeprint", printed(true));
    window.addEventListener("afterprint", printed(false));
    report.dark.addEventListener("change", report.redraw);
    let timer = 0;
    window.addEventListener("resize", () => {
      clearTimeout(timer);
      timer = setTimeout(report.redraw, 100);
    });
    document.body.dataset.ready = "yes";
  },
};

report.makers.plain = (node, spec) => {
  for (const trace of spec.figure.data) trace.name = report.plain(trace.name);
  return report.add(node, () => structuredClone(spec.figure));
};
