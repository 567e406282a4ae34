-- SPDX-License-Identifier: BSL-1.0
-- Renews the lock, or sets it again if it is gone, only while no other client came after us (docs/protocol.md, rules
-- F4, F5 and EL2). KEYS: the lock, its fence, the node's marker; of an election, the leader announcement. ARGV:
-- milliseconds of the lock, milliseconds of the fence, nonce, token; of an election, the announcement; the marker as it
-- was on connecting (empty: not looked at). Returns 1: renewed, 2: set again, 0: not ours, "STRANGER": another node
-- than expected.
-- rules K10, F4, F5 and EL2
local seen = redis.call('mget', unpack(KEYS))
local marker = ARGV[#ARGV]
if marker ~= '' and seen[3] ~= marker then
    return redis.status_reply('STRANGER')
end
-- After the lock, because a server that is out of memory refuses SET unless the script has changed something. A late
-- extension does not replace a later revision of its term. The fence has excluded later terms.
local function proclaim()
    if not KEYS[4] then
        return
    end
    local term, revision = ARGV[5]:match('^(%d+) (%d+) ')
    local stands, its = (seen[4] or ''):match('^(%d+) (%d+) ')
    if stands == term and tonumber(its) > tonumber(revision) then
        redis.call('pexpire', KEYS[4], ARGV[1])
    else
        redis.call('set', KEYS[4], ARGV[5], 'px', ARGV[1])
    end
end
local fence = tonumber(seen[2] or redis.call('pttl', KEYS[2]) == -2 and 0)
if not (fence and fence >= 0 and fence < 8796093022208) then
    return redis.error_reply('WRONGTYPE the fence is no number that can be counted on from: ' .. KEYS[2])
end
if fence > tonumber(ARGV[4]) or (seen[1] and seen[1] ~= ARGV[3]) then
    return 0
end
-- PEXPIRE instead of SET if possible: SET is refused when the server is out of memory.
if seen[1] and fence == tonumber(ARGV[4]) then
    redis.call('pexpire', KEYS[1], ARGV[1])
    redis.call('pexpire', KEYS[2], ARGV[2])
    proclaim()
    redis.call('get', KEYS[1]) -- as in extend.lua
    return 1
end
-- A key that MGET does not show may exist: one of another type, which is nobody's lock but not ours to replace.
if not redis.call('set', KEYS[1], ARGV[3], seen[1] and 'xx' or 'nx', 'px', ARGV[1]) then
    return 0
end
redis.call('set', KEYS[2], ARGV[4], 'px', ARGV[2])
proclaim()
redis.call('get', KEYS[1])
-- A missing fence means that the node has lost data: its key proves nothing either.
return (seen[1] and seen[2]) and 1 or 2
