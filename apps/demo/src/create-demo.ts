// Makes the application, on Express or on Fastify; nothing else in the demo knows which.
import { type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { DemoModule } from './demo.module';
import { type Settings } from './settings';

/** The demo, not yet listening. */
export function createDemo(settings: Settings): Promise<INestApplication> {
  const adapter = settings.adapter === 'fastify' ? new FastifyAdapter() : new ExpressAdapter();
  return NestFactory.create(DemoModule.with(settings), adapter, { logger: ['error', 'warn'] });
}
