"use strict";
// Numbers beside the pointer: the nearest point of a drawing is read out below it.
const readings = (root) => {
  for (const paper of root.querySelectorAll(".paper")) {
    const hits = [...paper.querySelectorAll(".hit, .box")].filter((hit) => hit.querySelector("title"));
    if (!hits.length || paper.querySelector(".reading")) continue;
    const reading = document.createElement("p");
    reading.className = "reading";
    reading.setAttribute("aria-hidden", "true");
    paper.append(reading);
    const places = hits.map((hit) => ({ hit, text: hit.querySelector("title").textContent }));
    // The browser's own tip would come late and cover the plot; the label of the drawing and the table say the same.
    const drawing = paper.querySelector("svg");
    drawing.addEventListener("pointermove", (event) => {
      let best = null, least = Infinity;
      for (const place of places) {
        const box = place.hit.getBoundingClientRect();
        const dx = Math.max(box.left - event.clientX, 0, event.clientX - box.right);
        const dy = Math.max(box.top - event.clientY, 0, event.clientY - box.bottom);
        const distance = dx * dx + 0.2 * dy * dy;
        if (distance < least) [best, least] = [place, distance];
      }
      for (const place of places) place.hit.classList.toggle("near", place === best && least < 2500);
      reading.textContent = best && least < 2500 ? best.text : "";
    });
    drawing.addEventListener("pointerleave", () => {
      reading.textContent = "";
      for (const place of places) place.hit.classList.remove("near");
    });
  }
};

// The list is filtered while one types; without this the form asks the server.
const filters = () => {
  const [text, state, found] = ["text", "state", "found"].map((id) => document.getElementById(id));
  if (!text || !state || !found) return;
  const rows = [...document.querySelectorAll("#runs tbody tr")];
  const wanted = text.value.trim().toLowerCase();
  let shown = 0;
  for (const row of rows) {
    row.hidden = !(row.dataset.text.includes(wanted) && (!state.value || row.dataset.state === state.value));
    shown += row.hidden ? 0 : 1;
  }
  const told = `${shown.toLocaleString("en-US")} of ${rows.length.toLocaleString("en-US")} runs`;
  if (found.textContent !== told) found.textContent = told;
};

// What changes comes from the server, part by part. A page that nobody looks at lets go of its connection.
let source = null;
const main = () => document.getElementById("main");
const say = (text) => { const place = document.getElementById("connection"); if (place && place.textContent !== text) place.textContent = text; };
const stop = () => { if (source) source.close(); source = null; };
const replace = (id, html) => {
  const old = document.getElementById(id);
  if (!old) return;
  const open = [...old.querySelectorAll("details")].map((details) => details.open);
  const chosen = old.querySelector("input[type=checkbox]")?.checked;
  const focused = old.contains(document.activeElement) ? [...old.querySelectorAll("a, input, summary")].indexOf(document.activeElement) : -1;
  old.outerHTML = html;
  const fresh = document.getElementById(id);
  if (!fresh) return;
  [...fresh.querySelectorAll("details")].forEach((details, place) => { details.open = open[place] ?? false; });
  const box = fresh.querySelector("input[type=checkbox]");
  if (box && chosen) box.checked = true;
  if (focused >= 0) [...fresh.querySelectorAll("a, input, summary")][focused]?.focus({ preventScroll: true });
  readings(fresh);
};
const reload = async () => {
  stop();
  const answer = await fetch(location.href, { cache: "no-store" });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("main");
  const kept = ["text", "state"].map((id) => [id, document.getElementById(id)?.value]);
  const typing = document.activeElement?.id;
  const chosen = new Set([...document.querySelectorAll("#runs input:checked")].map((box) => box.value));
  main().replaceWith(fresh);
  for (const [id, value] of kept) { const field = document.getElementById(id); if (field && value !== undefined) field.value = value; }
  for (const box of document.querySelectorAll("#runs input[type=checkbox]")) box.checked = chosen.has(box.value);
  if (typing) document.getElementById(typing)?.focus({ preventScroll: true });
  begin();
};
const watch = () => {
  const { mark, form } = main().dataset;
  if (mark === undefined || document.hidden || source) return;
  const page = encodeURIComponent(location.pathname + location.search);
  source = new EventSource(`/live?page=${page}&mark=${encodeURIComponent(mark)}`);
  source.onopen = () => say("live");
  source.onerror = () => say("not connected: is `muffle serve` still running?");
  source.addEventListener("begin", (event) => { if (JSON.parse(event.data) !== form) reload(); });
  source.addEventListener("reload", reload);
  source.addEventListener("region", (event) => {
    const { id, html } = JSON.parse(event.data);
    replace(id, html);
    filters();
  });
};
const begin = () => {
  readings(document);
  filters();
  for (const id of ["text", "state"]) document.getElementById(id)?.addEventListener("input", filters);
  watch();
};
document.addEventListener("visibilitychange", () => { if (document.hidden) stop(); else watch(); });
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin); else begin();
