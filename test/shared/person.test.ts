import { describe, expect, it } from 'vitest';
import { isOneName, isOnePerson, personIdOfName } from '#src/shared/person.ts';

describe('Two names denote one person', () => {
  it.each([
    ['Ann', 'Ann.'],
    ['Ann', 'ANN'],
    ['Ann', ' ann '],
    ['Ann', 'Ａｎｎ'],
    ['Ann', '\u0410nn'],
    ['Ann', '\u0391nn'],
    ['Ann', 'Ann\u200b'],
    ['Ann', 'An\u00adn'],
    ['Ann', 'Ann\ufe0f'],
    ['Ann', 'A\u034fnn'],
    ['Ann', 'A\u180bnn'],
    ['Ann', '\u202eAnn'],
    ['Ann', 'Ann\u{e0041}'],
    ['Ann', '\u{1d400}nn'],
    ['Ann Lee', 'Ann  Lee'],
    ['Ann Lee', 'Ann\u00a0Lee'],
    ['Ann Lee', 'Ann-\u2060 Lee'],
    ['Ann-Marie', 'AnnMarie'],
    ["O'Neil", 'O\u2019Neil'],
    ["O'Neil", '0Neil'],
    ['Ian', 'lan'],
    ['Ian', '|an'],
    ['Ian', '1an'],
    ['Ian', 'ian'],
    ['Bob', 'B0b'],
    ['Ann Eight', 'ANN E1GHT'],
    ['Bob', '\u0412ob'],
    ['\u0412ob', '\u0432ob'],
    ['Marc', 'rnarc'],
    ['Zo\u00eb', 'Zoe\u0308'],
    ['Zo\u00eb', 'Zo\u0451'],
    ['\u0421\u0410\u0428\u0410', '\u0441\u0430\u0448\u0430'],
    ['\u039d\u03af\u03ba\u03bf\u03c2', '\u039d\u038a\u039a\u039f\u03a3'],
    ['Wei\u00df', 'WEISS'],
  ])('Two names denote one person as %j and as %j', (one, other) => {
    expect(isOneName(one, other)).toBe(true);
    expect(isOneName(other, one)).toBe(true);
  });
});

describe('Two names denote two people', () => {
  it.each([
    ['Ann', 'Anne'],
    ['Ann', 'Anna'],
    ['Ann Lee', 'Ann Lie'],
    ['Dana Owner', 'DanaOwner'],
    ['Eva', 'Ena'],
    ['Ivan', '\u0418\u0432\u0430\u043d'],
    ['\u7530\u4e2d', '\u5c71\u7530'],
  ])('Two names denote two people as %j and as %j', (one, other) => {
    expect(isOneName(one, other)).toBe(false);
  });
});

describe('Two credentials', () => {
  const ann = { name: 'Ann', person_id: 'ann@one.example' };
  const otherAnn = { name: 'Ann', person_id: 'ann@two.example' };
  const derived = { name: 'Ann', person_id: 'name:ann' };
  const named = (name: string) => ({ name, person_id: personIdOfName(name) ?? '' });

  it('Two credentials belong to two people of one name when operators chose two ids', () => {
    expect(isOnePerson(ann, otherAnn)).toBe(false);
    expect(isOnePerson(ann, { ...ann, name: 'Ann Lee' })).toBe(true);
  });

  it('Two credentials belong to one person of that name when one of them has no chosen id', () => {
    expect(isOnePerson(ann, named('ann.'))).toBe(true);
    expect(isOnePerson(named('Ann.'), derived)).toBe(true);
    expect(isOnePerson(ann, derived)).toBe(true);
    expect(isOnePerson(derived, named('Bea'))).toBe(false);
  });

  it('A credential gets an id from a name with at least one letter or digit', () => {
    expect(personIdOfName('Ann')).toBe('name:ann');
    expect(personIdOfName('ANN.')).toBe('name:ann');
    expect(personIdOfName('…')).toBeUndefined();
  });
});
