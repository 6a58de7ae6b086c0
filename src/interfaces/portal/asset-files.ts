import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export type Asset = { type: string; body: Buffer; digest: string };

const load = (name: string, type: string): Asset => {
  const body = readFileSync(new URL(`assets/${name}`, import.meta.url));
  return { type, body, digest: hash('sha256', body, 'hex').slice(0, 12) };
};

/** What the pages are dressed in; read once, at start. */
export const ASSETS = {
  'tributary.css': load('tributary.css', 'text/css; charset=utf-8'),
  'review.js': load('review.js', 'text/javascript; charset=utf-8'),
} as const;

export type AssetName = keyof typeof ASSETS;

/** The address names the content, so that browsers may keep it for good. */
export const assetHref = (name: AssetName): string => `/assets/${name}?v=${ASSETS[name].digest}`;
