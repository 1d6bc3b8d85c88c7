// What the demo says when it is up.
import { API_KEYS } from './accounts';
import { DEMO_ADMIN_TOKEN, type Settings } from './settings';

/** The address, what to try, and what a missing Redis means. */
export function greeting(url: string, settings: Settings): string {
  const { adapter, adminToken, redisUrl } = settings;
  const token = adminToken === DEMO_ADMIN_TOKEN ? adminToken : '$ADMIN_TOKEN';
  const keys = Object.entries(API_KEYS).map(([key, { tier }]) => `${key} (${tier})`);
  return [
    `Weather, rate limited: ${url} (${adapter}, buckets in ${redisUrl === undefined ? 'memory' : 'Redis'})`,
    ...(redisUrl === undefined
      ? [
          'No REDIS_URL: limits hold for this process alone (two instances let twice as much through) and are forgotten when it ends.',
        ]
      : []),
    '',
    'Try it, eight calls at 1 a second with a burst of 5; one refused in full; a full bucket again:',
    `  for i in 1 2 3 4 5 6 7 8; do curl -s -o /dev/null -w '%{http_code} ' -H 'x-api-key: slow-key' ${url}/weather/oslo; done; echo`,
    `  curl -i -H 'x-api-key: slow-key' '${url}/forecast/oslo?days=5'`,
    `  curl -X DELETE -H 'authorization: Bearer ${token}' ${url}/admin/callers/snail`,
    '',
    `API keys (header x-api-key): ${keys.join(', ')}; without one, your address counts.`,
  ].join('\n');
}
