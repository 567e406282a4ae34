-- Gives back what is ours, as a reader or as a writer (docs/protocol.md, rules S9, S14 and S15). KEYS: the lock, its
-- gate. ARGV: nonce, milliseconds of the readers' turn, milliseconds of a mark: a writer takes its vote back and waits on
-- (0: it does not). 1: done, 0: not ours.
-- Readers that a writer kept out are let in before the next writer; when the last of them leaves, their turn is over.
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local kind = redis.call('type', KEYS[1]).ok
if kind == 'string' then
    if redis.call('get', KEYS[1]) ~= ARGV[1] then
        return 0
    end
    redis.call('del', KEYS[1])
    if ARGV[3] ~= '0' then
        redis.call('zadd', KEYS[2], now + ARGV[3], 'writer')
        redis.call('pexpire', KEYS[2], ARGV[3] * 2)
        return 1
    end
    if tonumber(redis.call('zscore', KEYS[2], 'reader') or 0) > now then
        redis.call('zadd', KEYS[2], now + ARGV[2], 'turn')
    end
    redis.call('zrem', KEYS[2], 'reader')
    return 1
end
if kind ~= 'zset' or redis.call('zrem', KEYS[1], ARGV[1]) == 0 then
    return 0
end
redis.call('zremrangebyscore', KEYS[1], '-inf', now)
local last = redis.call('zrange', KEYS[1], -1, -1, 'withscores')[2]
if last then
    redis.call('pexpireat', KEYS[1], last)
else
    redis.call('zrem', KEYS[2], 'reader', 'turn')
end
return 1
