// A Redis in a container, where a Docker daemon is running.
import { spawnSync } from 'node:child_process';

const IMAGE = 'redis:7-alpine';

/** How to run it, or undefined when there is no daemon or the image would have to be downloaded and may not. */
export function runningDocker({ mayPull }) {
  if (!succeeds('info')) return undefined;
  if (!succeeds('image', 'inspect', IMAGE)) {
    if (!mayPull) return undefined;
    console.log(`Redis: none on the PATH, using Docker: docker pull ${IMAGE}`);
  }
  return { commandLine, patienceMs: 180_000 };
}

/** In the foreground: the container ends when the docker command is told to. */
function commandLine(port) {
  const run = ['docker', 'run', '--rm', '--publish', `127.0.0.1:${port}:6379`, IMAGE];
  return [...run, 'redis-server', '--save', '', '--appendonly', 'no'];
}

function succeeds(...args) {
  return spawnSync('docker', args, { stdio: 'ignore', timeout: 10_000 }).status === 0;
}
