import { describe, expect, it } from 'vitest';
import { countedDeliveries } from '#src/handoffs/delivery.decider.ts';
import { specify } from '../support/world/decider-spec.ts';

const counted = (outbound_id: string) => ({
  type: 'DeliveryCounted' as const,
  data: { outbound_id },
});
const count = (outboundId: string, max: number) => ({
  type: 'CountDelivery' as const,
  outboundId,
  max,
});
const { given } = specify(countedDeliveries);

describe('The automatic deliveries of a day', () => {
  it('The automatic deliveries of a day are counted up to the limit of the owner', () => {
    expect(given().when(count('out_1', 2)).then(counted('out_1'))).toEqual(new Set(['out_1']));
    const both = given(counted('out_1')).when(count('out_2', 2)).then(counted('out_2'));
    expect(both).toEqual(new Set(['out_1', 'out_2']));
    given(counted('out_1'), counted('out_2'))
      .when(count('out_3', 2))
      .rejected('limit_reached', /as many links were delivered today as the owner allows/);
  });

  it('The automatic deliveries of a day are none if the owner allows none', () => {
    given().when(count('out_1', 0)).rejected('limit_reached');
  });

  it('The automatic deliveries of a day follow a limit that changes during the day', () => {
    const two = given(counted('out_1'), counted('out_2'));
    two.when(count('out_3', 1)).rejected('limit_reached');
    two.when(count('out_3', 3)).then(counted('out_3'));
  });

  it('The automatic deliveries of a day count a repeated one once, also at the limit', () => {
    const two = given(counted('out_1'), counted('out_2'));
    for (const max of [0, 1, 2, 3]) {
      two.when(count('out_1', max)).then();
      two.when(count('out_2', max)).then();
    }
    const repeated = given(counted('out_1'), counted('out_1'));
    repeated.when(count('out_2', 2)).then(counted('out_2'));
  });
});
