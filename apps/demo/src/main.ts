// The process: settings from the environment, a port, a greeting.
import 'reflect-metadata';
import { type AddressInfo } from 'node:net';
import { createDemo } from './create-demo';
import { isFree } from './free-port';
import { greeting } from './greeting';
import { settingsFrom } from './settings';

const USUAL_PORT = 3000;

async function main(): Promise<void> {
  const settings = settingsFrom(process.env);
  const app = await createDemo(settings);
  app.enableShutdownHooks();
  const port = settings.port ?? ((await isFree(USUAL_PORT)) ? USUAL_PORT : 0);
  await app.listen(port, settings.host);
  const { port: listening } = app.getHttpServer().address() as AddressInfo;
  console.log(greeting(`http://localhost:${listening}`, settings));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
