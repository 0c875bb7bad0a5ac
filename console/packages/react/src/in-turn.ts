/** Does one thing after the other, in the order in which they were asked for; the first at once. */
export function inTurn(): <Result>(deed: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> | null = null;
  return (deed) => {
    const turn = last === null ? deed() : last.then(deed, deed);
    last = turn;
    const done = () => {
      if (last === turn) last = null;
    };
    void turn.then(done, done);
    return turn;
  };
}
