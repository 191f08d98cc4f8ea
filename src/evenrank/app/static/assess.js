// Judging by keys, without loading whole pages. Every page works without this file.
"use strict";
(() => {
  const KEYS_OFF = "evenrank-keys-off";
  const main = document.querySelector("main");
  let isBusy = false;
  let shownMs = 0;
  let shownSince = document.hidden ? null : performance.now();

  const find = (selector) => document.querySelector(selector);
  const keysAreOn = () => localStorage.getItem(KEYS_OFF) === null;
  const draftName = () => `comment ${location.pathname}`;

  // Time that the article was in front of the assessor: hidden tabs do not count.
  const secondsShown = () => (shownMs + (shownSince === null ? 0 : performance.now() - shownSince)) / 1000;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && shownSince !== null) shownMs += performance.now() - shownSince;
    shownSince = document.hidden ? null : performance.now();
  });

  // Keys: each element says in data-key which one it answers to. Text boxes keep all keys to themselves.
  const isTyping = (element) => element.closest("textarea, select, input:not([type=checkbox], [type=radio]), [contenteditable]");

  function press(element) {
    if (element.matches("textarea")) {
      element.focus();
      element.scrollIntoView({ block: "nearest" });
    } else if (element.matches("details")) {
      element.open = !element.open;
      element.querySelector("summary").focus();
    } else {
      element.click();
    }
  }

  function nextMark() {
    const marks = [...document.querySelectorAll("article p mark, article li mark, article h2 mark, article dd mark")]
      .filter((mark) => !mark.closest(".found"));
    if (!marks.length) return;
    const here = marks.indexOf(find("mark.here"));
    marks[here]?.classList.remove("here");
    const mark = marks[(here + 1) % marks.length];
    mark.classList.add("here");
    mark.scrollIntoView({ block: "center" });
  }

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && isTyping(event.target)) return event.target.blur();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("#remark")) return event.target.form.requestSubmit();
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || isTyping(event.target)) return;
    if (!keysAreOn() || event.key === "Enter" && event.target.closest("a, button, summary, input, [tabindex='0']")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const element = key === "m" ? null : find(`[data-key="${CSS.escape(key)}"]`);
    if (!element && key !== "m") return;
    event.preventDefault();
    if (event.repeat || isBusy) return; // a key held down judges once
    if (key === "m") nextMark();
    else press(element);
  });

  // Answers and moves: fetch the page that would have come, and put its content in place.
  async function visit(address, options = {}) {
    if (isBusy) return;
    isBusy = true;
    main.setAttribute("aria-busy", "true");
    try {
      const response = await fetch(address, options);
      const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
      const isRefused = response.status === 409; // somebody else was first: the page that comes shows what stands now
      if (!response.ok && !isRefused) throw new Error(fresh.querySelector("main p")?.textContent || fresh.body.textContent.trim());
      show(fresh, response.url, options.isBack);
      return !isRefused;
    } catch (error) {
      complain(error, options.method === "POST");
      return false;
    } finally {
      isBusy = false;
      main.removeAttribute("aria-busy");
    }
  }

  function show(fresh, address, isBack) {
    main.replaceChildren(...fresh.querySelector("main").childNodes);
    find("header nav").replaceWith(fresh.querySelector("header nav"));
    document.title = fresh.title;
    const shown = new URL(address);
    shown.searchParams.delete("undone"); // said once, not again when the page is loaded again
    shownAddress = shown.pathname + shown.search;
    if (!isBack && shown.href !== location.href) history.pushState(null, "", shown.href);
    shownMs = 0;
    shownSince = document.hidden ? null : performance.now();
    prepare();
    scrollTo(0, 0);
    (find("#article") || find("h1"))?.focus({ preventScroll: true });
    const said = [find("#saved")?.textContent.trim(), find(".counts")?.textContent];
    if (find("#said")) find("#said").textContent = said.filter(Boolean).join(". ");
  }

  function complain(error, isAnswer) {
    const place = find(".failed");
    if (!place) return location.reload();
    const reason = error instanceof TypeError ? place.dataset.offline : error.message;
    place.textContent = isAnswer ? `${place.dataset.unsaved} ${reason} ${place.dataset.retry}` : reason;
    place.hidden = false;
  }

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.method !== "post" || !form.closest("main") || form.hasAttribute("data-plain")) return;
    event.preventDefault();
    const draft = draftName();
    if (form.elements.seconds) form.elements.seconds.value = secondsShown().toFixed(1);
    const body = new URLSearchParams(new FormData(form, event.submitter));
    if (await visit(form.action, { method: "POST", body }) && form.matches(".answers")) sessionStorage.removeItem(draft);
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-key]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    visit(link.href);
  });

  // Links inside the page, such as the one to what counts on phones, must not load it again.
  let shownAddress = location.pathname + location.search;
  addEventListener("popstate", () => {
    if (location.pathname + location.search !== shownAddress) visit(location.href, { isBack: true });
  });

  // A comment that is not sent yet outlives a reload.
  document.addEventListener("input", (event) => {
    if (event.target.id === "comment") sessionStorage.setItem(draftName(), event.target.value);
  });

  document.addEventListener("change", (event) => {
    if (event.target.id !== "keys-on") return;
    if (event.target.checked) localStorage.removeItem(KEYS_OFF);
    else localStorage.setItem(KEYS_OFF, "1");
    document.body.classList.toggle("keys-off", !event.target.checked);
  });

  function prepare() {
    document.body.classList.toggle("keys-off", !keysAreOn());
    document.body.classList.add("has-keys");
    const box = find("#keys-on");
    if (box) {
      box.checked = keysAreOn();
      box.closest("[hidden]")?.removeAttribute("hidden");
    }
    const comment = find("#comment");
    const draft = sessionStorage.getItem(draftName());
    if (comment && draft !== null) comment.value = draft;
  }

  prepare();
})();
