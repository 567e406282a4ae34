#define BOOST_TEST_MODULE simulation
#include <boost/test/included/unit_test.hpp>
