-- Makes the only reader into a writer (docs/protocol.md, rules S8 and S13). KEYS[1] the lock. ARGV: nonce, milliseconds.
-- 1: done, or we were one already. "HELD <milliseconds left> 0 READERS": not the only one; a reader still, and renewed.
-- 0: we are none here.
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
if redis.call('mget', KEYS[1])[1] == ARGV[1] then
    return redis.call('pexpire', KEYS[1], ARGV[2])
end
local kind = redis.call('type', KEYS[1]).ok
local ends = kind == 'zset' and redis.call('zscore', KEYS[1], ARGV[1])
if not ends or tonumber(ends) <= now then
    return 0
end
redis.call('zremrangebyscore', KEYS[1], '-inf', now)
if redis.call('zcard', KEYS[1]) == 1 then
    redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
    return 1
end
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('pexpireat', KEYS[1], redis.call('zrange', KEYS[1], -1, -1, 'withscores')[2])
return redis.status_reply(string.format('HELD %.0f 0 READERS', redis.call('pttl', KEYS[1])))
