// A worker process: `node worker.mjs '<config>'`. Notes when each job starts and sends all at the end.
import { openOurs } from './ours.mjs';
import { openWorker } from './plain.mjs';

const { what, jobs, ...config } = JSON.parse(process.argv[2]);
const starts = [];
function note({ data }) {
  starts.push({ k: data.k, atMs: performance.timeOrigin + performance.now() });
  if (starts.length === jobs) process.send({ starts });
}
const open =
  what === 'ours'
    ? await openOurs({ ...config, process: note })
    : await openWorker({ ...config, process: note });
process.on('message', () => {
  void open.close().then(() => process.disconnect());
});
process.send('ready');
