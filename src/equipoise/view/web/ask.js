// The box to ask in: what is typed is asked at once, and everything is part of the address.
(function () {
  const form = document.getElementById("ask");
  if (!form) return;
  const answer = document.getElementById("answer"), state = document.getElementById("ask-state"), list = document.getElementById("kept");
  const names = ["sentence", "pronouns", "candidates", "groups"];
  let people = [], going = false, asked = "", timer = 0, changed = performance.now(), kept = [];
  const MARK = "#kept=";
  function read() {
    const given = {};
    for (const name of names) given[name] = form.elements[name].value;
    return given;
  }
  function store() {
    const fields = new URLSearchParams();
    for (const name of names) if (form.elements[name].value) fields.set(name, form.elements[name].value);
    const source = new URLSearchParams(location.search).get("from_run");
    if (source) fields.set("from_run", source);
    history.replaceState(null, "", location.pathname + "?" + fields + (kept.length ? MARK + encodeURIComponent(JSON.stringify(kept)) : ""));
  }
  const tokens = document.getElementById("tokens"), shown = document.getElementById("tokens-shown");
  let tokensOf = "";
  async function readTokens() {
    if (!tokens || !tokens.open || !asked || tokensOf === asked) return;
    const body = tokensOf = asked;
    const reply = await post("tokens.json", body), heard = await reply.json();
    // Another sentence was asked meanwhile.
    if (body !== asked) return;
    if (heard.text) { shown.textContent = heard.text; return; }
    shown.innerHTML = heard.html;
    document.documentElement.dataset.tokens = JSON.parse(body).sentence;
  }
  function post(address, body) { return fetch(address, { method: "POST", headers: { "Content-Type": "application/json" }, body: body }); }
  if (tokens) tokens.addEventListener("toggle", readTokens);
  async function send() {
    const given = read(), body = JSON.stringify(given);
    if (going || body === asked || form.dataset.able === undefined) return;
    going = true;
    const since = changed;
    try {
      const reply = await post("ask.json", body);
      const heard = await reply.json();
      if (reply.status === 503) { state.textContent = heard.text; setTimeout(send, 1000); return; }
      asked = body;
      if (heard.text) { state.textContent = heard.text; return; }
      answer.innerHTML = heard.html;
      people = heard.answers.length ? heard.answers[0].names : [];
      state.textContent = "";
      document.documentElement.dataset.asked = String(Math.round(performance.now() - since));
      document.documentElement.dataset.sentence = given.sentence;
    } catch (error) { state.textContent = "The viewer does not answer; is it still running?"; }
    finally { going = false; }
    // What was typed meanwhile.
    if (JSON.stringify(read()) !== body) send(); else readTokens();
  }
  function typed() { changed = performance.now(); store(); clearTimeout(timer); timer = setTimeout(send, 30); }
  function show() {
    list.replaceChildren(...kept.map(function (entry, place) {
      const line = document.createElement("li"), again = document.createElement("button"), gone = document.createElement("button");
      again.type = gone.type = "button";
      again.className = "quiet";
      again.textContent = entry.sentence;
      again.addEventListener("click", function () { for (const name of names) form.elements[name].value = entry[name] || ""; typed(); });
      gone.textContent = "remove";
      gone.setAttribute("aria-label", "remove " + entry.sentence);
      gone.addEventListener("click", function () { kept.splice(place, 1); show(); store(); });
      line.append(again, " ", gone);
      return line;
    }));
    document.getElementById("kept-save").disabled = !kept.length;
  }
  try { if (location.hash.startsWith(MARK)) kept = JSON.parse(decodeURIComponent(location.hash.slice(MARK.length))); } catch (error) { kept = []; }
  if (!Array.isArray(kept)) kept = [];
  kept = kept.filter(function (entry) { return entry && typeof entry.sentence === "string"; }).slice(0, 500);
  form.addEventListener("input", function (event) { if (event.target.id !== "ask-marker") typed(); });
  form.addEventListener("submit", function (event) { event.preventDefault(); asked = ""; typed(); });
  document.getElementById("ask-keep").addEventListener("click", function () { kept.push(read()); show(); store(); });
  document.getElementById("ask-swap").addEventListener("click", function () {
    const box = form.elements.sentence, given = form.elements.candidates.value.split(",").map(function (word) { return word.trim(); }).filter(Boolean);
    const [one, other] = given.length > 1 ? given : people;
    if (!one || !other) { state.textContent = "Ask once, or name the two people."; return; }
    const escaped = function (word) { return word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"); };
    box.value = box.value.replace(new RegExp("\\b(" + escaped(one) + "|" + escaped(other) + ")\\b", "g"), function (word) { return word === one ? other : one; });
    typed();
  });
  document.getElementById("ask-marker").addEventListener("change", function (event) {
    const box = form.elements.sentence, words = event.target.value, plain = box.value.replace(/\[[^\]]*\]\s*/, "");
    const first = people[0];
    if (!words) { box.value = plain; form.elements.groups.value = ""; typed(); return; }
    if (!first || !plain.includes(first)) { state.textContent = "Ask once, so that the people are known."; return; }
    box.value = plain.replace(first, "[" + words.split(",")[0].trim() + "] " + first);
    form.elements.groups.value = words;
    typed();
  });
  document.getElementById("kept-save").addEventListener("click", async function () {
    const reply = await post("table.csv", JSON.stringify(kept));
    if (!reply.ok) { state.textContent = (await reply.json()).text; return; }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([await reply.text()], { type: "text/csv" }));
    link.download = "kept.csv";
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
  });
  show();
  document.documentElement.dataset.ask = "ready";
  if (form.elements.sentence.value) send();
})();
