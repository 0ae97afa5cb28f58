// The server's API.

let accessToken = "";

// ask sends a request and returns its response; an error is what the server says of it.
async function ask(path, body, signal) {
  const headers = accessToken ? { Authorization: `Bearer ${accessToken}` } : {};
  if (body) headers["Content-Type"] = "application/json";
  const response = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal });
  if (response.ok) return response;
  if (response.status === 401) document.getElementById("access").hidden = false;
  let message = `${response.status} ${response.statusText}`;
  try {
    message = (await response.json()).error.message;
  } catch { /* the status says it */ }
  throw new Error(message);
}

const asked = async (path, body, signal) => (await ask(path, body, signal)).json();

// eachLine calls f with each line of JSON of a response as it comes.
async function eachLine(response, f) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (held + value).split("\n");
    held = lines.pop();
    for (const line of lines) {
      const event = JSON.parse(line);
      if (event.error) throw new Error(event.error.message);
      f(event);
    }
  }
  if (held.trim()) throw new Error("the answer ended within a line");
}
