// Additions only: without this file each page works by links and forms. Bound by data-*, roles and ids;
// nothing of a log is kept in the browser, only two choices of the reader (zone, keys).
"use strict";

(() => {
  const ROWS = ".tree summary, .tree .mark, .events tbody tr, .ledger tbody tr, .children tbody tr";
  const live = document.getElementById("live");
  const say = (words) => { if (live) live.textContent = words; };

  // Time zone: UTC as sent, or the reader's own. The exact time stays in `datetime`.
  const LOCAL = Intl.DateTimeFormat().resolvedOptions().timeZone || "local";
  const zone = () => localStorage.getItem("zone") || "UTC";
  const two = (number) => String(number).padStart(2, "0");

  function showTimes(root) {
    if (zone() === "UTC" && !root.querySelector("time[data-utc]")) return;
    for (const time of root.querySelectorAll("time[datetime]")) {
      const utc = (time.dataset.utc ??= time.textContent);
      const at = new Date(time.dateTime);
      const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
      const clock = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
      // As exact as sent, but always with the day: elsewhere another day has begun.
      const rest = utc.includes("-") ? utc.slice(11) : utc;
      time.textContent = zone() === "UTC" ? utc : `${day} ${clock.slice(0, Math.min(rest.length, 8))}${rest.slice(8)}`;
    }
    for (const word of document.querySelectorAll("[data-zone]")) (word.querySelector("button") || word).textContent = zone();
  }

  function offerZone() {
    const place = document.querySelector(".who [data-zone]");
    if (!place || LOCAL === "UTC") return;
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Change between UTC and your own time zone";
    button.addEventListener("click", () => {
      localStorage.setItem("zone", zone() === "UTC" ? LOCAL : "UTC");
      showTimes(document);
      say(`Times are now shown in ${zone()}.`);
    });
    button.textContent = zone();
    place.replaceChildren(button);
  }

  // A link to an event or a range: open what is folded over it, or ask for the page that has it open.
  // Where the address only looks for a seq, the first event that is marked is the place.
  function follow() {
    const hash = decodeURIComponent(location.hash.slice(1));
    const wanted = /^e(\d+)(?:-e?(\d+))?$/.exec(hash);
    const sought = !hash && new URLSearchParams(location.search).has("seq");
    const target = sought ? document.querySelector("tr[aria-current]") : document.getElementById(wanted ? `e${wanted[1]}` : hash);
    if (target) {
      for (let over = target.closest("details"); over; over = over.parentElement.closest("details")) over.open = true;
      if (target.matches("tr")) {
        target.tabIndex = -1;
        target.focus({ preventScroll: true });
      }
      target.scrollIntoView({ block: "center" });
    } else if (wanted && document.querySelector(".tree")) {
      const asked = wanted[2] ? `${wanted[1]}-${wanted[2]}` : wanted[1];
      if (new URLSearchParams(location.search).get("seq") !== asked) location.replace(`?seq=${asked}#e${wanted[1]}`);
    }
  }

  // Keys: one letter each, off inside fields, and they can be turned off.
  const rows = () => [...document.querySelectorAll(ROWS)].filter((row) => row.checkVisibility());
  const link = (row) => row.querySelector("a[href]:not(.chip)") || row.parentElement.querySelector("a.page");
  const at = () => document.activeElement.closest(ROWS);

  function focus(row) {
    if (!row) return;
    if (row.tagName !== "SUMMARY") row.tabIndex = -1;
    row.focus();
    row.scrollIntoView({ block: "nearest" });
  }

  function step(by) {
    const all = rows();
    const here = all.indexOf(at());
    focus(all[here < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(here + by, 0), all.length - 1)]);
  }

  function open() {
    const row = at();
    if (row?.tagName === "SUMMARY") row.click();
    else if (row) link(row)?.click();
  }

  function up() {
    const over = at()?.closest("li, .leaf")?.parentElement.closest("details") || at()?.closest("details");
    if (over) focus(over.querySelector("summary"));
    else [...document.querySelectorAll(".crumbs a")].pop()?.click();
  }

  function help() {
    const found = document.querySelector("dialog.keyboard");
    if (found) return found.showModal();
    const dialog = document.createElement("dialog");
    dialog.className = "keyboard";
    dialog.setAttribute("aria-label", "Keys");
    dialog.innerHTML = `<h2>Keys</h2><dl><dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next row, row before</dd>
      <dt><kbd>o</kbd></dt><dd>open or fold the row, or go to its page</dd><dt><kbd>u</kbd></dt><dd>up: what the row is in</dd>
      <dt><kbd>g</kbd></dt><dd>jump to a seq</dd><dt><kbd>/</kbd></dt><dd>filter</dd><dt><kbd>?</kbd></dt><dd>this list</dd></dl>
      <p><input type="checkbox" id="keys-on"> <label for="keys-on">keys are on (? always is)</label></p>
      <form method="dialog"><button>Close</button></form>`;
    const on = dialog.querySelector("input");
    on.checked = localStorage.getItem("keys") !== "off";
    on.addEventListener("change", () => localStorage.setItem("keys", on.checked ? "on" : "off"));
    document.body.append(dialog);
    dialog.showModal();
  }

  const KEYS = {
    j: () => step(1), k: () => step(-1), o: open, u: up, "?": help,
    g: () => document.getElementById("seq")?.focus(),
    "/": () => document.querySelector("input[type=search]")?.focus(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select, textarea, dialog")) return;
    const act = KEYS[event.key];
    if (!act || (event.key !== "?" && localStorage.getItem("keys") === "off")) return;
    event.preventDefault();
    act();
  });

  // Before a swap: was the focus in what goes? A region that renews itself takes it from nowhere else.
  let focusWasThere = false;
  document.addEventListener("htmx:beforeSwap", (event) => {
    const gone = event.detail.target;
    focusWasThere = gone !== document.body && gone.contains(document.activeElement);
  });
  // After a swap: times, the sentence of N of M read out, and the focus kept where what had it is gone.
  document.addEventListener("htmx:afterSettle", (event) => {
    const fresh = document.getElementById(event.detail.elt.id) || document.body;
    showTimes(fresh);
    const sentence = fresh.querySelector(".of");
    if (sentence) say(sentence.textContent.trim());
    if (focusWasThere && document.activeElement === document.body && fresh !== document.body) {
      fresh.tabIndex = -1;
      fresh.focus({ preventScroll: true });
    }
  });
  document.addEventListener("htmx:responseError", (event) => say(`The server answered ${event.detail.xhr.status}; nothing was shown.`));
  document.addEventListener("htmx:sendError", () => say("The server cannot be reached; nothing was shown."));
  window.addEventListener("hashchange", follow);
  offerZone();
  showTimes(document);
  follow();
})();
