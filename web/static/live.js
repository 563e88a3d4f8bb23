// live.js keeps a page live over one WebSocket and adds the keyboard to it.
//
// A frame is {e: epoch, s: sequence, f: {key: text}, h: {id: html}, n: text}.
// f goes into [data-f] elements, h replaces whole elements, n is announced to
// screen readers. Everything on the page also works without this file.
"use strict";
(() => {
  const all = (sel, from = document) => Array.from(from.querySelectorAll(sel));
  const byId = (id) => document.getElementById(id);
  const data = document.body.dataset;

  // ---- values and patches
  const values = new Map();
  const nodes = new Map();

  function index() {
    nodes.clear();
    for (const el of all("[data-f]")) {
      const key = el.dataset.f;
      if (!nodes.has(key)) nodes.set(key, []);
      nodes.get(key).push(el);
    }
  }

  function read(el) {
    if (el.tagName === "METER") return el.getAttribute("value");
    if (el.tagName === "LINK") return el.getAttribute("href");
    return el.textContent;
  }

  function write(el, text) {
    if (read(el) === text) return;
    if (el.tagName === "METER") el.value = text;
    else if (el.tagName === "LINK") el.href = text;
    else el.textContent = text;
  }

  function apply(frame) {
    const parts = Object.entries(frame.h || {}).filter(([id]) => byId(id));
    for (const [id, html] of parts) swap(byId(id), html);
    for (const [key, text] of Object.entries(frame.f || {})) {
      values.set(key, text);
      for (const el of nodes.get(key) || []) write(el, text);
      if (key === "title") document.title = text + data.title;
    }
    if (frame.n) byId("status").textContent = frame.n;
    order();
  }

  // swap keeps the identity of nodes, so focus, open details and a click in
  // progress survive. Parts come without their fields: those are known here.
  async function swap(el, html) {
    await window.htmx.swap({ target: el, swap: "outerMorph", text: html });
    index();
    for (const [key, els] of nodes) {
      if (values.has(key)) for (const node of els) write(node, values.get(key));
    }
  }

  // ---- order of the cards: never changed under the cursor
  function order() {
    const list = byId("targets");
    const hint = byId("order-changed");
    if (!list || !hint) return;
    const want = values.get(list.dataset.order);
    const have = all(":scope > [data-target]", list).map((el) => el.dataset.target).join(" ");
    hint.hidden = want === undefined || want === have;
  }

  function reorder() {
    const list = byId("targets");
    const want = (values.get(list.dataset.order) || "").split(" ").filter(Boolean);
    const cards = new Map(all(":scope > [data-target]", list).map((el) => [el.dataset.target, el]));
    if (want.length !== cards.size || want.some((id) => !cards.has(id))) {
      location.reload();
      return;
    }
    for (const id of want) list.append(cards.get(id));
    order();
  }

  // ---- the socket
  const pill = byId("pill");
  let socket = null;
  let epoch = data.epoch || "";
  let seq = data.seq || "0";
  let last = performance.now();
  let tries = 0;
  let timer = 0;
  let stopped = "";
  let leaving = false;
  let paused = false;
  let waiting = null;
  let scheduled = false;

  // collect merges frames, so that a slow page applies only the newest values.
  function collect(frame) {
    waiting = waiting
      ? { f: { ...waiting.f, ...frame.f }, h: { ...waiting.h, ...frame.h }, n: frame.n || waiting.n }
      : { f: frame.f || {}, h: frame.h || {}, n: frame.n };
    if (paused || scheduled) return;
    scheduled = true;
    requestAnimationFrame(flush);
  }

  function flush() {
    scheduled = false;
    if (paused || !waiting) return;
    const frame = waiting;
    waiting = null;
    apply(frame);
  }

  function connect() {
    clearTimeout(timer);
    if (stopped || leaving || socket) return;
    const at = new URL(data.live, location.href);
    at.protocol = at.protocol.replace("http", "ws");
    at.searchParams.set("epoch", epoch);
    at.searchParams.set("since", seq);
    const ws = new WebSocket(at);
    socket = ws;
    ws.onmessage = (ev) => {
      const frame = JSON.parse(ev.data);
      tries = 0;
      epoch = frame.e;
      seq = String(frame.s);
      last = performance.now();
      collect(frame);
      age();
    };
    ws.onclose = (ev) => {
      if (socket !== ws) return;
      socket = null;
      if (ev.code === 4401 || ev.code === 4429) stop(ev.code === 4401 ? "ended" : "many");
      else retry();
    };
  }

  // retry follows any close, also a polite 1001, with jitter and a cap, so that
  // a restarted server is not met by all browsers at once.
  function retry() {
    const most = Math.min(30000, 500 * 2 ** Math.min(tries, 8));
    tries++;
    timer = setTimeout(connect, most / 2 + Math.random() * (most / 2));
    age();
  }

  function stop(why) {
    stopped = why;
    const banner = byId("banner-" + why);
    if (banner) banner.hidden = false;
    age();
  }

  function age() {
    if (!pill) return;
    const seconds = (performance.now() - last) / 1000;
    let state = "live";
    if (stopped) state = "stopped";
    else if (paused) state = "paused";
    else if (seconds > 3) state = "stale";
    if (pill.dataset.state !== state) pill.dataset.state = state;
    document.documentElement.classList.toggle("is-stale", state === "stale" || state === "stopped");
    const shown = seconds < 10 ? seconds.toFixed(1) : Math.floor(seconds).toString();
    const text = (pill.dataset[state + "Text"] || "").replace("{n}", shown).replace("{tries}", String(tries));
    if (pill.textContent !== text) pill.textContent = text;
  }

  function pause(on) {
    paused = on;
    const button = byId("pause");
    if (button) button.setAttribute("aria-pressed", String(on));
    if (!on) flush();
    age();
  }

  // ---- editor: line numbers, marks at problems, the way to a line
  const source = byId("source");

  function lines() {
    const gutter = byId("gutter");
    if (!source || !gutter) return;
    const count = source.value.split("\n").length;
    while (gutter.children.length < count) {
      const li = document.createElement("li");
      li.id = "L" + (gutter.children.length + 1);
      li.textContent = String(gutter.children.length + 1);
      gutter.append(li);
    }
    while (gutter.children.length > count) gutter.lastElementChild.remove();
    source.rows = count + 1;
  }

  function marks() {
    const gutter = byId("gutter");
    if (!gutter) return;
    const bad = new Map(all("#problems [data-row]").map((el) => [el.dataset.row, el.dataset.severity]));
    for (const li of gutter.children) {
      const severity = bad.get(li.id.slice(1));
      if (severity) li.dataset.mark = severity;
      else delete li.dataset.mark;
    }
  }

  function goTo(row, col) {
    const before = source.value.split("\n").slice(0, row - 1).join("\n");
    const at = before.length + (row > 1 ? 1 : 0) + Math.max(0, col - 1);
    source.focus({ preventScroll: true });
    source.setSelectionRange(at, at);
    const li = byId("L" + row);
    if (li) li.scrollIntoView({ block: "center" });
  }

  if (source) {
    source.addEventListener("input", lines);
    lines();
    marks();
    // saved is the stored text as far as it is known: null after a request that
    // stored nothing, so that leaving the page asks first.
    let saved = source.value;
    addEventListener("beforeunload", (ev) => {
      if (source.value !== saved) ev.preventDefault();
    });
    source.form.addEventListener("submit", () => { saved = source.value; });
    document.addEventListener("htmx:error", () => { saved = null; });
    document.addEventListener("htmx:response:error", () => { saved = null; });
    document.addEventListener("htmx:after:swap", () => {
      const mark = byId("draft-status");
      saved = mark && mark.dataset.saved === "true" ? source.value : null;
      byId("status").textContent = byId("problems-title").textContent;
      marks();
    });
  }

  document.addEventListener("click", (ev) => {
    const link = ev.target.closest("[data-row]");
    if (link && source && link.dataset.file === source.dataset.file) {
      ev.preventDefault();
      goTo(Number(link.dataset.row), Number(link.dataset.col));
      return;
    }
    const copy = ev.target.closest("[data-copy]");
    if (copy) navigator.clipboard.writeText(byId(copy.dataset.copy).textContent).then(() => {
      byId("status").textContent = copy.dataset.done;
    }, () => {});
  });

  // ---- requests that got no answer: nothing was changed, and it must be said
  document.addEventListener("htmx:error", () => {
    const banner = byId("banner-unreachable");
    if (banner) { banner.hidden = false; banner.focus(); }
  });
  document.addEventListener("htmx:after:request", () => {
    const banner = byId("banner-unreachable");
    if (banner) banner.hidden = true;
  });
  document.addEventListener("htmx:after:swap", () => {
    index();
    const notice = byId("notice");
    if (notice && notice.firstElementChild) notice.focus();
  });

  // ---- keyboard
  const typing = (el) => el.closest("input, textarea, select, [contenteditable]");
  let prefix = "";

  document.addEventListener("keydown", (ev) => {
    if ((ev.ctrlKey || ev.metaKey) && ev.key === "Enter") {
      const check = byId("check");
      if (check) { ev.preventDefault(); check.click(); }
      return;
    }
    if (ev.ctrlKey || ev.metaKey || ev.altKey || typing(ev.target) || data.keys === "off") return;
    const go = prefix === "g" && document.querySelector(`[data-go="${CSS.escape(ev.key)}"]`);
    prefix = ev.key === "g" ? "g" : "";
    if (go) go.click();
    else if (ev.key === "p" && byId("pause")) pause(!paused);
    else if (ev.key === "?") help();
    else if (ev.key === "j" || ev.key === "k") step(ev.key === "j" ? 1 : -1);
  });

  function step(by) {
    const neighbour = document.querySelector(by > 0 ? "[data-next]" : "[data-previous]");
    if (neighbour) { neighbour.click(); return; }
    const rows = all("[data-row-link]");
    if (!rows.length) return;
    const at = rows.indexOf(document.activeElement);
    const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by));
    rows[next].focus();
  }

  function help() {
    const dialog = byId("help");
    if (dialog && !dialog.open) dialog.showModal();
  }

  // ---- start
  index();
  for (const [key, els] of nodes) values.set(key, read(els[0]));
  for (const el of all("[data-needs-script]")) el.hidden = false;
  const on = (id, f) => { const el = byId(id); if (el) el.addEventListener("click", f); };
  on("pause", () => pause(!paused));
  on("order-apply", reorder);
  on("open-help", (ev) => { if (byId("help")) { ev.preventDefault(); help(); } });
  on("close-help", () => byId("help").close());
  for (const el of all("select[data-submit]")) el.addEventListener("change", () => el.form.requestSubmit());

  if (data.live) {
    connect();
    setInterval(age, 200);
    addEventListener("online", connect);
    addEventListener("pagehide", () => {
      leaving = true;
      clearTimeout(timer);
      if (socket) socket.close();
    });
    addEventListener("pageshow", (ev) => {
      if (!ev.persisted) return;
      leaving = false;
      socket = null;
      connect();
    });
  }
})();
