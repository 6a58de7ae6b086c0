import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export type Asset = { type: string; body: Buffer; digest: string };

const load = (type: string, ...names: string[]): Asset => {
  const parts = names.map((name) => readFileSync(new URL(`./assets/${name}`, import.meta.url)));
  const body = Buffer.concat(parts);
  return { type, body, digest: hash('sha256', body, 'hex').slice(0, 12) };
};

/** Style sheets and scripts, read once at the start. The first sheet orders the layers. */
export const ASSETS = {
  'tributary.css': load(
    'text/css; charset=utf-8',
    'base.css',
    'parts.css',
    'forms.css',
    'pages.css',
  ),
  'mark.svg': load('image/svg+xml; charset=utf-8', 'mark.svg'),
  'review.js': load('text/javascript; charset=utf-8', 'review.js'),
} as const;

export type AssetName = keyof typeof ASSETS;

/** Path with a hash of the content, so that browsers may cache it without limit. */
export const assetHref = (name: AssetName): string => `/assets/${name}?v=${ASSETS[name].digest}`;
