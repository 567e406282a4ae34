-- SPDX-License-Identifier: BSL-1.0
-- Stands in a semaphore's line where all meet (docs/protocol.md, rules P6, P7 and L3). KEYS: the lock, the ends of its slots, its
-- line. ARGV: nonce, place, milliseconds of the line, how many may stand in it.
-- "GIVEN 0 <how many are taken> <slots>": ours to claim. "LINE <milliseconds left> <how many before us> <who>". "FULL": not let
-- in.
-- with slots.lua
-- with line.lua
-- with slots_line.lua
redis.call('zadd', KEYS[3], 'xx', 0, '') -- as in enter.lua
local wrong, open = see_slots()
if wrong then
    return wrong
end
local me = ARGV[1] .. ARGV[2]
local stands = redis.call('zscore', KEYS[3], me)
local slots
if open and not stands then
    slots = slots_of(ARGV[1]) -- handed to us meanwhile
end
if open and not (slots and slots[1]) then
    local anywhere = tonumber(ARGV[1]:sub(1, 8), 16) or 0
    slots = serve(KEYS[3], nil, me, anywhere)
end
if slots and slots[1] then
    return string.format('GIVEN 0 %d ', redis.call('hlen', KEYS[1])) .. table.concat(slots, ' ')
end
local before = redis.call('zrank', KEYS[3], me)
if not before then
    before = redis.call('zcard', KEYS[3])
    if before >= tonumber(ARGV[4]) then
        return redis.status_reply('FULL')
    end
    local last = redis.call('zrange', KEYS[3], -1, -1, 'withscores')[2] or '0'
    redis.call('zadd', KEYS[3], string.format('%.0f', last + 1), me)
end
redis.call('pexpire', KEYS[3], ARGV[3])
local left = open and until_ended(1) or redis.call('pttl', KEYS[1])
local who = open and 'FULL' or redis.call('mget', KEYS[1])[1] or ''
return redis.status_reply(string.format('LINE %.0f %d %s', left, before, who:sub(1, 8)))
