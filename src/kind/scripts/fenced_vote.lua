-- SPDX-License-Identifier: BSL-1.0
-- A vote with a fence (docs/protocol.md, rules F1 and L5). KEYS: the lock, its fence, the node's marker. ARGV:
-- milliseconds of the lock, milliseconds of the fence, nonce, proposal, for the one whom the lock is handed to the
-- nonce of who gave it up, or ours where nobody did (empty: it is not handed to us), the marker as it was on connecting
-- (empty: not looked at). A number: granted, with that fence. "HELD <milliseconds left> <fence> <owner>": refused, with
-- the start of the owner's nonce, or nothing where the key is no string. "STRANGER": another node than expected. An
-- error: the fence is no number of ours. SET comes first because most votes are granted: then it is all that the lock
-- itself costs.
local granted = redis.call('set', KEYS[1], ARGV[3], 'nx', 'px', ARGV[1])
local stood = false
if not granted and ARGV[5] ~= '' then
    local owner = redis.call('mget', KEYS[1])[1]
    stood = owner == ARGV[3]
    granted = owner and (stood or owner == ARGV[5])
    if granted then
        redis.call('set', KEYS[1], ARGV[3], 'px', ARGV[1])
    end
end
local seen = redis.call('mget', KEYS[2], KEYS[3])
-- What is deleted below may have stood before us: it was another's that was given up for us. What was ours already stays:
-- this may be a late claim of a lease that is held, and that has confirmed the node's other data since.
if ARGV[6] ~= '' and seen[2] ~= ARGV[6] then
    if granted and not stood then
        redis.call('del', KEYS[1])
    end
    return redis.status_reply('STRANGER')
end
-- MGET shows nothing of a key of another type, either: that is no fence, and not ours to replace.
local fence = tonumber(seen[1] or redis.call('pttl', KEYS[2]) == -2 and 0)
-- 2^43: beyond it tokens would not be exact any more (rule F1); no clock counts that far before 2248.
if fence and fence >= 0 and fence < 8796093022208 then
    if not granted then
        local left = redis.call('pttl', KEYS[1])
        -- MGET and not GET: a key of another type is in the way, too, as it is of a plain vote.
        local owner = redis.call('mget', KEYS[1])[1] or ''
        return redis.status_reply(string.format('HELD %d %.0f ', left, fence) .. owner:sub(1, 8))
    end
    -- No proposal leads the node's clock by more than half of the lock's time: what one client with a wrong clock
    -- counts up must be behind the others' clocks again before a node that lost its data votes (rule F3).
    local now = redis.call('time')
    local latest = now[1] * 1000 + math.floor(now[2] / 1000) + math.floor(ARGV[1] / 2)
    fence = math.max(fence + 1, math.min(tonumber(ARGV[4]), latest))
    if fence < 8796093022208 then
        redis.call('set', KEYS[2], string.format('%.0f', fence), 'px', ARGV[2])
        return fence
    end
end
if granted and not stood then
    redis.call('del', KEYS[1])
end
return redis.error_reply('WRONGTYPE the fence is no number that can be counted on from: ' .. KEYS[2])
