// The page of the demo: one file, no framework, nothing loaded from elsewhere.

/** HTML that asks /me and sends bursts to /weather/oslo and /reports with the chosen API key. */
export const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>nest-rate-limit demo</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 2rem auto; padding: 0 1rem }
  #calls { display: flex; flex-wrap: wrap; gap: 4px; min-height: 28px }
  #calls span { width: 24px; height: 24px; border-radius: 4px; background: #c62828 }
  #calls span.passed { background: #2e7d32 }
  #calls span.waiting { background: #f9a825 }
  label, button { margin-right: 1rem }
</style>
<h1>Weather, rate limited</h1>
<p>
  <label>API key
    <select id="key">
      <option value="">none (your address)</option>
      <option>slow-key</option><option>free-key</option><option>pro-key</option><option>enterprise-key</option>
    </select>
  </label>
  <button id="send">Send 30 calls</button>
  <button id="reports">Ask for 10 reports</button>
</p>
<p id="me" role="status"></p>
<p id="result" role="status"></p>
<div id="calls" aria-hidden="true"></div>
<script>
  const at = (id) => document.getElementById(id);
  const ask = (path, { headers, ...options } = {}) => {
    const key = at('key').value;
    const own = key ? { 'x-api-key': key } : {};
    return fetch(path, { headers: { ...own, ...headers }, cache: 'no-store', ...options });
  };
  async function showMe() {
    const answer = await ask('/me');
    if (!answer.ok) return;
    const me = await answer.json();
    at('me').textContent = (me.account ?? 'your address') + ', tier ' + me.tier + ': '
      + me.left + ' of ' + me.capacity + ' tokens left';
  }
  async function send() {
    const answers = await Promise.all(Array.from({ length: 30 }, () => ask('/weather/oslo')));
    const refused = answers.filter((answer) => answer.status === 429);
    at('result').textContent = (answers.length - refused.length) + ' passed, ' + refused.length + ' refused'
      + (refused.length ? '; Retry-After: ' + refused[0].headers.get('retry-after') + ' s' : '');
    at('calls').replaceChildren(...answers.map((answer) => square(answer, answer.ok ? 'passed' : '')));
    await showMe();
  }
  function square(answer, className) {
    const made = document.createElement('span');
    made.title = answer.status;
    made.className = className;
    return made;
  }
  // Those that wait are yellow until their report is there.
  async function askForReports() {
    const order = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"city":"oslo"}' };
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask('/reports', order)));
    const waiting = answers.filter((answer) => answer.status === 202);
    const ready = answers.filter((answer) => answer.status === 201).length;
    at('result').textContent = answers[0].status === 503 ? (await answers[0].json()).message
      : ready + ' reports at once, ' + waiting.length + ' later';
    const colour = (answer) => answer.status === 202 ? 'waiting' : answer.ok ? 'passed' : '';
    const squares = answers.map((answer) => square(answer, colour(answer)));
    at('calls').replaceChildren(...squares);
    await Promise.all(waiting.map(async (answer) => {
      let job = await answer.json();
      while (job.state === 'waiting' || job.state === 'active') {
        const status = await ask(job.statusUrl, { headers: { prefer: 'wait=20' } });
        if (!status.ok) return;
        job = await status.json();
      }
      squares[answers.indexOf(answer)].className = job.state === 'completed' ? 'passed' : '';
    }));
  }
  at('send').addEventListener('click', send);
  at('reports').addEventListener('click', askForReports);
  at('key').addEventListener('change', showMe);
  setInterval(showMe, 1000);
  showMe();
</script>
</html>
`;
