import { ReadModelParked } from '#src/ports/read-model.ts';
import type { Projection } from '../../projection.ts';
import type { Engine } from '../engine.ts';

export const indexByName = (projections: readonly Projection[]): ((name: string) => Projection) => {
  const index = new Map(projections.map((projection) => [projection.name, projection]));
  return (name) => {
    const projection = index.get(name);
    if (!projection) throw new Error(`there is no read model ${name}`);
    return projection;
  };
};

/** Throws ReadModelParked. */
export const requireUnparked = (
  engine: Pick<Engine, 'parkedFor'>,
  name: string,
  scope: string,
): void => {
  const parked = engine.parkedFor(name, scope);
  if (parked) throw new ReadModelParked(`${name} is parked before position ${parked.position}`);
};
