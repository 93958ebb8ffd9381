const form = document.getElementById("f"), told = document.getElementById("told");
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = Object.fromEntries(new FormData(form));
  body.token = location.hash.slice(1);
  const answer = await fetch("/api/v1/setup", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const view = await answer.json();
  told.textContent = "";
  const say = (tag, text) => told.appendChild(document.createElement(tag)).append(text);
  if (!answer.ok) return say("p", `${view.detail} ${view.help || ""}`);
  form.remove();
  say("p", `Done. ${view.user} may sign in. This API token for the command line is shown only here:`);
  say("pre", `export DULY_URL=${location.origin}\nexport DULY_TOKEN=${view.token}`);
});
