/** Streams of the log whose rows are pinned. */
import type { EventData, EventType } from '#contracts/registries/events.ts';

export const HOUR_MS = 3_600_000;

export type Told = { [Type in EventType]: [Type, EventData<Type>] }[EventType];

type Story = { stream: string; told: Told[] };

export const story = (stream: string, ...told: Told[]): Story => ({ stream, told });
