// Makes the copy buttons work and draws the charts, one after the other. Everything else is the library's.
for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });
}
for (const place of document.querySelectorAll("[data-chart]")) {
  const spec = JSON.parse(document.getElementById(place.dataset.chart).textContent);
  await vegaEmbed(place, spec, {
    mode: "vega", renderer: "svg", actions: false, defaultStyle: false, tooltip: { disableDefaultStyle: true },
    logLevel: 1, // errors alone: a curve that is switched off leaves a layer empty, which is no news
  });
}
document.documentElement.dataset.ready = "";
