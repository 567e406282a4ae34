-- A writer's vote where readers may come too (docs/protocol.md, rules S5 and S14). KEYS: the lock, its gate. ARGV: nonce,
-- milliseconds of the lock, milliseconds of a mark. 1: granted. "HELD <milliseconds left> 0 <who>": refused, and a
-- writer's mark is left, which keeps new readers out.
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local turn = tonumber(redis.call('zscore', KEYS[2], 'turn') or 0)
local open = turn > now and turn <= now + ARGV[3] -- or it was made before the clock was set back
if not open and redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) then
    redis.call('zrem', KEYS[2], 'writer')
    return 1
end
redis.call('zadd', KEYS[2], now + ARGV[3], 'writer')
redis.call('pexpire', KEYS[2], math.max(redis.call('pttl', KEYS[2]), ARGV[3]))
redis.call('zcard', KEYS[2]) -- so that the next change is heard of
local kind = redis.call('type', KEYS[1]).ok
local left = kind == 'none' and turn - now or redis.call('pttl', KEYS[1])
local who = redis.call('mget', KEYS[1])[1] or (kind == 'none' or kind == 'zset') and 'READERS' or ''
return redis.status_reply(string.format('HELD %.0f 0 ', left) .. who:sub(1, 8))
