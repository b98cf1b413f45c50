// early.js -- what cannot wait for the modules.  Not one itself: it is run before the first paint.
(function () {
    // The colours that were chosen last time, so that nothing flashes.
    let theme = null, key = null;
    try {
        theme = localStorage.getItem("cella.theme");
        key = sessionStorage.getItem("cella.key");
    } catch { /* storage is off: as the system has it */ }
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
    // Who we are: asked while the modules are on their way; identify() in api.js takes the answer.
    globalThis.cellaMe = fetch("/v1/me", {headers: key ? {Authorization: `Bearer ${key}`} : {}, cache: "no-store", credentials: "omit"}).catch(() => null);
})();
