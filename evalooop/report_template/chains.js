"use strict";
// Shows the chains of one run at a time. Whatever a model wrote is set as text, never as markup.
// The address holds what is open (#run=…&task=…&sample=…, and &beside=… for a second run's chain of the same task), so
// that it can be linked to and the back button works.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const indexes = new Map();
  const pages = new Map();
  const waiting = new Map();
  let shownRun = null;

  // The side files call these two.
  window.evalooopIndex = (run, index) => indexes.set(run, index);
  window.evalooopTexts = (run, page, texts) => pages.set(`${page} ${run}`, texts);

  function load(file) {
    if (!waiting.has(file)) {
      waiting.set(file, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = `${data.folder}/${file}`;
        script.onload = resolve;
        script.onerror = () => {
          waiting.delete(file);
          reject(new Error(`${data.folder}/${file} could not be read; it belongs beside this page.`));
        };
        document.head.append(script);
      }));
    }
    return waiting.get(file);
  }

  function make(tag, className, ...children) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  const nameOf = (index, chain) => (index.samples > 1 ? `${chain.task} #${chain.sample}` : chain.task);

  function strip(chain, loops) {
    const element = make("span", "strip");
    const cell = 7;
    const passed = chain.survived * cell;
    const ended = chain.end === "passed" || chain.end === "censored" ? passed : passed + cell;
    const { passed: pass, [chain.end]: end } = data.outcomes;
    element.style.width = `${loops * cell}px`;
    element.style.background =
      `repeating-linear-gradient(to right, transparent 0 ${cell - 1}px, var(--paper) ${cell - 1}px ${cell}px), ` +
      `linear-gradient(to right, ${pass.color} ${passed}px, ${end.color} ${passed}px ${ended}px, var(--line) ${ended}px)`;
    element.setAttribute("role", "img");
    element.setAttribute("aria-label", `survived ${chain.survived} of ${loops} loops`);
    return element;
  }

  function why(index, chain) {
    if (chain.end === "passed") return `passed all ${index.max_loops} loops`;
    if (chain.end === "censored") return `ends after loop ${chain.survived}, still passing`;
    return `loop ${chain.survived + 1}: ${chain.why}`;
  }

  function fillList(run, index) {
    at("list").replaceChildren(...index.chains.map((chain, number) => {
      const button = make("button", "",
        make("span", "top", make("span", "", nameOf(index, chain)), strip(chain, index.max_loops)),
        make("span", "why", why(index, chain)));
      button.type = "button";
      button.addEventListener("click", () => {
        location.hash = new URLSearchParams({ run, task: chain.task, sample: chain.sample });
      });
      const item = make("li", "", button);
      item.dataset.number = number;
      return item;
    }));
    const ends = new Map();
    for (const chain of index.chains) ends.set(chain.end, (ends.get(chain.end) ?? 0) + 1);
    const options = Object.keys(data.outcomes).filter((name) => ends.has(name));
    at("outcome").replaceChildren(new Option(`any outcome (${index.chains.length})`, ""),
      ...options.map((name) => new Option(`${data.outcomes[name].words} (${ends.get(name)})`, name)));
    filter();
  }

  function filter() {
    const index = indexes.get(shownRun);
    if (!index) return;
    const outcome = at("outcome").value;
    const sought = at("find").value.trim().toLowerCase();
    let count = 0;
    for (const item of at("list").children) {
      const chain = index.chains[item.dataset.number];
      const text = `${nameOf(index, chain)} ${why(index, chain)}`.toLowerCase();
      item.hidden = (outcome && chain.end !== outcome) || !text.includes(sought);
      count += !item.hidden;
    }
    at("count").textContent = `${count} of ${index.chains.length} chains`;
  }

  function text(title, content, className, flags = []) {
    const heading = make("h5", "", title, ...flags.map((flag) => make("span", "flag", flag.replaceAll("_", " "))));
    const body = content
      ? make("pre", className, className === "code" ? make("code", "", content) : content)
      : make("p", "empty", "nothing");
    return make("div", "text", heading, body);
  }

  function folded(title, content) {
    return content ? make("details", "", make("summary", "", title), make("pre", "prose", content)) : null;
  }

  const tokens = (count) => (count ? `, ${count} tokens` : "");

  function showLoop(loop, place, loops, maxLoops) {
    const outcome = data.outcomes[loop.outcome];
    const dot = make("span", "dot");
    dot.style.background = outcome.color;
    const head = make("div", "head",
      make("h4", "", dot, `Loop ${loop.loop}`),
      make("span", "verdict", loop.verdict),
      ...(loop.flags ?? []).map((flag) => make("span", "flag", flag)));
    const before = loops[place - 1];
    const same = before && before.code && before.code === loop.code;
    const section = make("section", "loop", head,
      make("div", "pair",
        text("Words in", loop.words, "prose"),
        text(same ? `Program, the same as in loop ${before.loop}` : "Program", loop.code, "code")),
      folded(`The exact prompt${tokens(loop.prompt_tokens)}`, loop.prompt),
      // A recorded program is all there is of its answer.
      loop.answer === loop.code ? null
        : folded(`The whole answer${tokens(loop.new_tokens)}${loop.stop === "length" ? ", cut off" : ""}`, loop.answer));
    const next = loops[place + 1];
    if (next) {
      const title = `Description out${tokens(next.describe_new_tokens)}`;
      const out = text(title, next.description, "prose", next.description_flags);
      out.classList.add("out");
      section.append(out);
    } else if (loop.outcome === "passed" && loop.loop === maxLoops) {
      section.append(make("p", "note", "The last loop: no description was asked for."));
    }
    if (loop.judge) {
      const { score, reply } = loop.judge;
      const words = score === null
        ? `The judge’s reply could not be read and is left out: “${reply}”`
        : `The judge finds the words and programs of loops ${loop.loop} and ${loop.loop + 1} ${Math.round(score * 100)} % alike.`;
      section.append(make("p", "judge", words));
    }
    return section;
  }

  function showChain(index, number, loops) {
    const chain = index.chains[number];
    return make("div", "one",
      make("p", "note", `Survived ${chain.survived} of ${index.max_loops} loops.`),
      ...loops.map((loop, place) => showLoop(loop, place, loops, index.max_loops)));
  }

  // Lets the reader put another run's chain of the same task beside this one.
  function chooser(run, chain, beside) {
    if (data.runs.length < 2) return null;
    const select = make("select", "", new Option("nothing", ""),
      ...data.runs.filter((other) => other.run !== run).map((other) => new Option(other.label, other.run)));
    select.value = beside ?? "";
    select.addEventListener("change", () => {
      const wanted = { run, task: chain.task, sample: chain.sample };
      location.hash = new URLSearchParams(select.value ? { ...wanted, beside: select.value } : wanted);
    });
    return make("label", "beside", "Beside it ", select);
  }

  // What is known of the run as a whole: its scores, its curve, what the audit found.
  function showPanel(entry, panel) {
    const facts = make("dl", "facts", ...[...panel.facts, ...panel.findings].map(([term, words]) =>
      make("div", "", make("dt", "", term), make("dd", "", words))));
    at("panel").replaceChildren(make("h3", "", entry.label), make("div", "pair", facts, curve(panel.survival)));
  }

  function curve(survival) {
    const draw = (tag, attributes) => {
      const element = document.createElementNS(at("pen").namespaceURI, tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      return element;
    };
    const known = survival.filter((share) => share !== null);
    if (!known.length) return null;
    const x = (place) => 28 + (place * 240) / Math.max(known.length - 1, 1);
    const y = (share) => 8 + 84 * (1 - share);
    const picture = draw("svg", { viewBox: "0 0 300 112", role: "img", class: "curve" });
    const words = known.map((share) => `${Math.round(share * 100)} %`).join(", ");
    picture.setAttribute("aria-label", `share of tasks still passing, loop by loop: ${words}`);
    for (const share of [0, 0.5, 1]) {
      picture.append(draw("line", { class: "axis", x1: 28, x2: 268, y1: y(share), y2: y(share) }));
      const label = draw("text", { x: 24, y: y(share) + 3, "text-anchor": "end" });
      label.textContent = `${share * 100} %`;
      picture.append(label);
    }
    picture.append(draw("polyline", { points: known.map((share, place) => `${x(place)},${y(share)}`).join(" ") }));
    for (const [place, share] of known.entries()) {
      const label = draw("text", { x: x(place), y: 106, "text-anchor": "middle" });
      label.textContent = place + 1;
      picture.append(draw("circle", { cx: x(place), cy: y(share), r: 2.2 }), label);
    }
    return make("figure", "small", picture, make("figcaption", "", "tasks still passing after each loop"));
  }

  function say(message) {
    at("chain").replaceChildren(make("p", "note", message));
  }

  async function openRun(entry) {
    await load(entry.file);
    if (shownRun === entry.run) return;
    shownRun = entry.run;
    at("run").value = entry.run;
    at("find").value = "";
    fillList(entry.run, indexes.get(entry.run));
    showPanel(entry, indexes.get(entry.run).panel);
    say("Choose a chain from the list.");
  }

  async function loopsOf(run, task, sample) {
    const index = indexes.get(run);
    const number = index.chains.findIndex((chain) => chain.task === task && (sample === null || String(chain.sample) === sample));
    if (number < 0) return { index, number };
    const { page } = index.chains[number];
    await load(`${index.stem}.${page}.js`);
    return { index, number, loops: pages.get(`${page} ${run}`)[number] };
  }

  async function openChain(run, task, sample, beside) {
    const { index, number, loops } = await loopsOf(run, task, sample);
    for (const item of at("list").children) {
      const current = Number(item.dataset.number) === number;
      item.firstChild.setAttribute("aria-current", current);
      if (current) item.firstChild.scrollIntoView({ block: "nearest", behavior: "instant" });
    }
    if (number < 0) return say(`This run has no chain of ${task}.`);
    const chain = index.chains[number];
    const columns = [showChain(index, number, loops)];
    const other = data.runs.find((entry) => entry.run === beside);
    if (other) {
      columns[0].prepend(make("h4", "", data.runs.find((entry) => entry.run === run).label));
      await load(other.file);
      const found = await loopsOf(other.run, task, sample);
      const column = found.loops ? showChain(found.index, found.number, found.loops)
        : make("div", "one", make("p", "note", `This run has no chain of ${task}.`));
      column.prepend(make("h4", "", other.label));
      columns.push(column);
    }
    const back = make("a", "back", "Back to the list");
    back.href = "#chains";
    at("browser").classList.toggle("comparing", columns.length > 1);
    at("chain").replaceChildren(back, make("h3", "", nameOf(index, chain)),
      ...[chooser(run, chain, beside)].filter(Boolean), make("div", "columns", ...columns));
    at("chain").scrollIntoView({ block: "start", behavior: "instant" });
  }

  async function follow() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    const entry = data.runs.find(({ run }) => run === wanted.get("run"));
    if (!entry) return;
    try {
      await openRun(entry);
      if (wanted.has("task")) await openChain(entry.run, wanted.get("task"), wanted.get("sample"), wanted.get("beside"));
      else at("panel").scrollIntoView();
    } catch (error) {
      say(error.message);
    }
  }

  function start() {
    if (!data.runs.length) return;
    at("filters").hidden = at("browser").hidden = false;
    at("run").replaceChildren(...data.runs.map(({ run, label }) => new Option(label, run)));
    at("run").addEventListener("change", () => { location.hash = new URLSearchParams({ run: at("run").value }); });
    at("outcome").addEventListener("change", filter);
    at("find").addEventListener("input", filter);
    at("filters").addEventListener("submit", (event) => event.preventDefault());
    window.addEventListener("hashchange", follow);
    if (location.hash.includes("run=")) follow();
    else openRun(data.runs[0]).catch((error) => say(error.message));
  }

  start();
})();
