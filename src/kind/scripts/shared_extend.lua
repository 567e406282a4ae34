-- Renews a reader only while it is one (docs/protocol.md, rule S6), and what is ours as a writer as a writer: it may have
-- become one since. KEYS[1] the lock. ARGV: nonce, milliseconds. 1: done, 0: not ours.
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
if redis.call('mget', KEYS[1])[1] == ARGV[1] then
    redis.call('pexpire', KEYS[1], ARGV[2])
    redis.call('mget', KEYS[1]) -- so that the next change is heard of
    return 1
end
local kind = redis.call('type', KEYS[1]).ok
local ends = kind == 'zset' and redis.call('zscore', KEYS[1], ARGV[1])
if not ends or tonumber(ends) <= now then
    return 0
end
redis.call('zremrangebyscore', KEYS[1], '-inf', now)
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('pexpireat', KEYS[1], redis.call('zrange', KEYS[1], -1, -1, 'withscores')[2])
return 1
