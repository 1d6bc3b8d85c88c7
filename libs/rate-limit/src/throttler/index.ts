// The entry `nest-rate-limit/throttler`: for applications that use @nestjs/throttler.
export {
  RedisTokenBucketStorage,
  type TokenBucketStorageOptions,
} from './redis-token-bucket-storage';
